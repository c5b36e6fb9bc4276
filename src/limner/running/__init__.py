"""A run: what is planned, done, estimated, spent and imported."""
