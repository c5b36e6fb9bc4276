"""Papers as LaTeX: sources read, made one text, their sections and figures found."""
