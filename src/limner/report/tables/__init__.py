"""Tables: one model, a renderer for each format, and what is told in them."""
