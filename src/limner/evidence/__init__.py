"""Evidence: what is measured on a drawing without asking a model."""
