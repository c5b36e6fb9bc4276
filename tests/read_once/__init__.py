"""A picture is read once in a test session, whichever tests and processes ask for its text."""
