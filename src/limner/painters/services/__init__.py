"""Image services: one module for each wire format, named like its ``image_shape``.

The ``SERVICE`` of every module here is registered under the module's name; other packages register theirs by the
entry points ``limner.services``.
"""
