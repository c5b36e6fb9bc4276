"""Studies: people who mark a seeded sample of drawings by a design."""
