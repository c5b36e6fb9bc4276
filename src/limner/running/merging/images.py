"""Images of one store brought into another."""

from __future__ import annotations

import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ...core.errors import LostImage
from ...core.images import SUFFIXES
from ...store import Store
from ...store.blobs import AT_ONCE

NAME = re.compile(rf"[0-9a-f]{{2}}/([0-9a-f]{{64}})\.({'|'.join(SUFFIXES.values())})")


@dataclass
class CopiedImages:
    """What became of a source's images.

    Attributes:
        new: How many were not there.
        lost: Those that could not be read, with why.
    """

    new: int = 0
    same: int = 0
    lost: dict[str, str] = field(default_factory=dict)


def images_of(store: Store) -> set[str]:
    """The hashes of all images that lie in a store."""
    return {found[1] for name, _ in store.blobs.names() if (found := NAME.fullmatch(name))}


def copy_images(target: Store, source: Store, there: set[str], *, dry_run: bool = False) -> CopiedImages:
    """Copy what the target lacks, each image checked against its hash; `there` is what it has, and grows."""
    lacking = sorted((found := images_of(source)) - there)
    copied = CopiedImages(same=len(found) - len(lacking))
    if dry_run:
        copied.new = len(lacking)
        there.update(lacking)
        return copied

    with ThreadPoolExecutor(AT_ONCE) as pool:
        writing: deque[Future[object]] = deque()
        for sha256, data in source.blobs.each(lacking):
            if isinstance(data, LostImage):
                copied.lost[sha256] = str(data)
                continue
            copied.new += 1
            there.add(sha256)
            writing.append(pool.submit(target.blobs.put, data))
            if len(writing) > AT_ONCE:  # No more than these lie in memory.
                writing.popleft().result()
        for one in writing:
            one.result()
    return copied
