"""An exam whose judge's prompts were worded anew since: the older wording kept, both listed."""

from __future__ import annotations

import datetime
import itertools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from limner.core.prompts import Prompts
from limner.exams import Kind
from limner.exams.wordings import LIST, joined
from limner.judges import make_variant


def template_sets(kind: Kind[Any]) -> Iterator[tuple[str, ...]]:
    """The templates of every way of asking that the exam knows."""
    protocol = kind.protocol
    for name in protocol.variants:
        for values in itertools.product(*protocol.options.values()):
            yield protocol.templates(make_variant(kind, name, dict(zip(protocol.options, values, strict=True))))


def listed(kind: Kind[Any], number: int, folder: Path) -> str:
    """A version as it stands in the list, with the hashes of the templates in a folder."""
    hashes = {joined(names): Prompts(folder).hash(*names) for names in template_sets(kind)}
    head = f"[[version]]\nnumber = {number}\ndate = {datetime.date.today()}\n\n[version.hashes]\n"
    return head + "".join(f'"{name}" = "{hash}"\n' for name, hash in hashes.items())


def reworded(kind: Kind[Any], folder: Path, template: str) -> Kind[Any]:
    """The exam as if its newest wording were the first, with a second, in which this template ends otherwise."""
    prompts = folder / "prompts"
    shutil.copytree(kind.prompts, prompts, ignore=shutil.ignore_patterns("v[0-9]*"))
    shutil.copytree(kind.prompts, prompts / "v1", ignore=shutil.ignore_patterns(LIST, "v[0-9]*"))
    path = prompts / f"{template}.md"
    path.write_text(path.read_text("utf-8") + "\nBe fair.\n", "utf-8")
    newer = replace(kind, prompts=prompts)
    (prompts / LIST).write_text(listed(kind, 1, prompts / "v1") + "\n" + listed(newer, 2, prompts), "utf-8")
    return newer
