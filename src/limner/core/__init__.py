"""What every other part speaks."""
