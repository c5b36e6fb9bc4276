"""Figures into atoms: the text in them, evidence in prompts, drafts of atoms, and prompts that say the same."""
