"""Tables: one model, a renderer for each format, and their contents."""
