"""Evidence: measurements of a drawing that do not need a judge, such as its text, regions and aesthetics."""
