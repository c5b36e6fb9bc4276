"""The common part of painters that draw in batches, by one worker process per device."""
