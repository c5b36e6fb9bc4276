"""Metrics that models compute on this machine: text and image, looks, and how far sets of images are apart."""

from .kinds import METRICS, LocalMetric, open_metric

__all__ = ["METRICS", "LocalMetric", "open_metric"]
