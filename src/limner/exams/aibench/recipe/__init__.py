"""AIBench's recipe: papers' LaTeX sources become method texts with questions on four levels."""
