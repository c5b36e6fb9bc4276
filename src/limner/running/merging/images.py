"""Images of one store brought into another."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ...core.errors import LostImage
from ...core.images import SUFFIXES
from ...store import Store

AT_ONCE = 8
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

    def one(sha256: str) -> str:
        try:
            target.blobs.put(source.blobs.get(sha256))
        except LostImage as error:
            return str(error)
        return ""

    for sha256, why in _together(one, lacking):
        if why:
            copied.lost[sha256] = why
        else:
            copied.new += 1
            there.add(sha256)
    return copied


def _together(do: Callable[[str], str], items: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Several at a time, and never many more than are waited for."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting: deque[tuple[str, Future[str]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(do, item)))
            if len(waiting) >= 2 * AT_ONCE:
                first, future = waiting.popleft()
                yield first, future.result()
        for last, future in waiting:
            yield last, future.result()
