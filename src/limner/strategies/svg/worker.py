"""The worker's side of a rendering: a separate process that sets its limits before it gets the picture.

It runs without site packages and without Limner: the standard library and the renderer are enough.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def renderer(library: str, memory: int, seconds: int) -> Callable[..., Any]:
    """Return the worker's function, which returns PNG bytes, or the renderer's message if it refuses the picture.

    Args:
        library: The folder that contains the renderer.
        memory: The most bytes of address space.
        seconds: The most seconds of processor time.
    """
    import resource

    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # The soft limit sends a signal that tells what went wrong; the process is killed one second later.
        resource.setrlimit(what, (most, most + 1 if hard == resource.RLIM_INFINITY else min(most + 1, hard)))
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(what, (0, 0))
    sys.path.insert(0, library)

    def render(svg: bytes, options: dict[str, Any]) -> Any:
        import resvg_py

        try:
            return resvg_py.svg_to_bytes(svg_string=svg.decode(), **options)
        except ValueError as error:
            return str(error)

    return render
