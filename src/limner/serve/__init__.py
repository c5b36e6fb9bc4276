"""Limner's web servers: the common base of the pages of studies and reviews."""
