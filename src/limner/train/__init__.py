"""Training: FLUX-Reason, a FLUX that draws from a chain of reasoning."""
