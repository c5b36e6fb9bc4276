"""What every other part speaks: the words that stand below all rooms."""
