"""Papers in LaTeX: reading sources, joining them into one text, finding sections and figures."""
