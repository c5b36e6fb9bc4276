"""Words in a drawing that are addressed to the examiner."""
