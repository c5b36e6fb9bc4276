"""The store: questions, drawings, calls and marks in a database, and images in files."""

from .blobs import Blobs
from .store import DEFAULT, Store, now, store_exists
