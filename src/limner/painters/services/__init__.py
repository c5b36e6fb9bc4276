"""Image services: one module for each wire format, which is called as ``image_shape`` calls it.

Every module here is registered by its name, as its ``SERVICE``; those of other packages by the entry points
``limner.services``.
"""
