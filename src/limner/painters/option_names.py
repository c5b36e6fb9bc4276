"""What a preset asks of painters, under the names that each of them has for it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

CALLED: dict[str, tuple[str, ...]] = {
    "guidance": ("guidance", "guidance_scale", "true_cfg_scale"),
    "steps": ("steps", "num_inference_steps"),
}
"""What an option means, and what painters call it, the usual name first."""


def in_own_names(
    preset: Mapping[str, Any], given: Mapping[str, Any], takes: Collection[str] | None, names: Mapping[Any, str]
) -> dict[str, Any]:
    """The options of a painter: the preset's in its own names, less what is given, and what is given as it is.

    An option that it has no name for stays as the preset has it, for the painter to refuse.

    Args:
        preset: Options in any painter's names.
        given: Options of the user's, which go before the preset's under whatever name.
        takes: Every option the painter takes; None where that is not known.
        names: What this painter calls an option, where it takes several of the names.

    >>> in_own_names({"guidance": 3.5}, {}, {"guidance_scale", "size"}, {})
    {'guidance_scale': 3.5}
    """
    said = {meaning(name) for name in given}
    found: dict[str, Any] = {}
    for name, value in preset.items():
        what = meaning(name)
        if what in said:
            continue
        own = [names[what]] if what in names else [each for each in CALLED.get(what, ()) if each in (takes or ())]
        found[name if takes is None or name in own[:1] or not own else own[0]] = value
    return {**found, **given}


def meaning(name: str) -> str:
    """What an option of this name means; itself where no other name is known for it."""
    return next((what for what, names in CALLED.items() if name in names), name)
