"""Evidence: what is measured on a drawing without asking a judge: its text, its regions, its looks."""
