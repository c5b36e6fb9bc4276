"""Reports: tables made from a store."""
