"""How a painter is named: the words it is given by, and its row in tables, plots and pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CONTROL = "control/"
"""What the specs of controls begin with."""
SERVICE_REWRITE = "service_rewrite"
"""The option of painters that asks the service to rewrite prompts: ``on`` or ``off``; ``off`` unless it is given."""
REWRITTEN = " · service rewrite"
"""What is said after the name of a painter whose service was asked to rewrite prompts."""
REFERENCE, SHUFFLED = f"{CONTROL}reference", f"{CONTROL}shuffled"
"""The control that ought to get everything, and the one that shows another question's reference."""


def name_and_spec(word: str) -> tuple[str, str]:
    """A painter's name and spec: both are the word itself where it is not ``name=spec``.

    >>> name_and_spec("mine=folder/a=b"), name_and_spec("folder/a=b")
    (('mine', 'folder/a=b'), ('folder/a=b', 'folder/a=b'))
    >>> name_and_spec("FLUX-Reason (R1)=folder/a")
    ('FLUX-Reason (R1)', 'folder/a')
    """
    found = re.match(r"([\w.:+()-]+(?: [\w.:+()-]+)*)=(.+)", word)
    return (found[1], found[2]) if found else (word, word)


def label(painter: str, options: Mapping[str, Any]) -> str:
    """A painter's name with its options: one row of a table.

    >>> label("mine", {"size": 9}), label("mine", {"service_rewrite": "on"})
    ('mine?size=9', 'mine · service rewrite')
    """
    words = "&".join(f"{key}={value}" for key, value in sorted(options.items()) if key != SERVICE_REWRITE)
    return (f"{painter}?{words}" if words else painter) + (REWRITTEN if SERVICE_REWRITE in options else "")


def without_options(label: str) -> str:
    """The painter's name in its label.

    >>> without_options("mine?size=9 · service rewrite"), without_options("mine · service rewrite")
    ('mine', 'mine')
    """
    return label.partition("?")[0].removesuffix(REWRITTEN)


def row_name(painter: str, strategy: str) -> str:
    """A painter's row in tables: with its strategy, where that is not the direct one.

    >>> row_name("mine", "direct"), row_name("mine", "rewrite")
    ('mine', 'mine + rewrite')
    """
    return painter if strategy == "direct" else f"{painter} + {strategy}"


def short_row_name(name: str) -> str:
    """A row's name where room is scarce: without the providers before its slashes.

    >>> short_row_name("lab/brush?quality=high + best-of-3[chooser=lab/chooser2]")
    'brush?quality=high + best-of-3[chooser=chooser2]'
    >>> short_row_name("control/blank"), short_row_name("folder/./out/mine")
    ('control/blank', 'mine')
    >>> short_row_name("lab/brush · service rewrite + rewrite")
    'brush · service rewrite + rewrite'
    """
    painter, plus, strategy = name.partition(" + ")
    head, mark, options = painter.partition("?")
    if not head.startswith(CONTROL):
        head = head.rstrip("/").rpartition("/")[2] or head
    return f"{head}{mark}{options}{plus}{re.sub(r'=[^][=,&]*/', '=', strategy)}"
