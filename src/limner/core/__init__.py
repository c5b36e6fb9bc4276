"""The concepts that all other packages use: exams, marks, evidence, settings, faults."""
