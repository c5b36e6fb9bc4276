"""The report as a site: static pages that open from disk, with no server and no network."""

from .builder import build
