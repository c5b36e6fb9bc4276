"""Runs commands one after another in this process and prints what each said: `python -m tests.third_party.drive`."""

from __future__ import annotations

import json
import sys

from tests.cli.invoke import limner

if __name__ == "__main__":
    said = [limner(*words, code=None) for words in json.load(sys.stdin)]
    json.dump([[one.code, one.out, one.err] for one in said], sys.stdout)
