"""What painters share that draw in batches, by one worker process per device."""
