"""Draws the sheet of thumbnails."""

from __future__ import annotations

from tests.svg.corpus.thumbnails import main

main()
