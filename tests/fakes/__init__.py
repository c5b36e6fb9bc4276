"""Fake services that run as processes of their own, on loopback, driven by tests."""

from tests.fakes.client import ChatServer
from tests.fakes.truth import count_points, request_key, verdict

__all__ = ["ChatServer", "count_points", "request_key", "verdict"]
