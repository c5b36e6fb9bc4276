"""Steps of builds: each module is one, registered by its name and as its ``STEP``."""
