"""What measures: one backend for each entry point of ``limner.probes``, which is called ``evidence.backend``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.errors import UsageError
from ..core.evidence import EVIDENCE
from ..core.registry import Opener, Registry

if TYPE_CHECKING:  # To name what measures needs none of it.
    from ..core.images import Preparer
    from ..core.settings import Settings
    from .probe import Probe


@dataclass(frozen=True)
class ProbeInputs:
    """What a probe is made from.

    Attributes:
        word: As it was given: ``backend``, ``backend:rest``, with ``?name=value&…`` for options.
        rest: What stands behind the colon.
        options: What stands behind the question mark.
        images: Prepares pictures to be sent.
        reader: Who reads text, for probes that need its lines; None for one that reads text itself.
    """

    word: str
    rest: str
    options: Mapping[str, Any]
    settings: Settings
    images: Preparer
    reader: Probe | None = None


@dataclass(frozen=True)
class ProbeKind(Opener[ProbeInputs, "Probe"]):
    """A backend that measures one sort of evidence.

    A probe that may cost money has `limner.core.catalogue.Priced.price`, for estimates.

    Attributes:
        options: The options it has; None where it looks at them itself.
    """

    options: frozenset[str] | None = frozenset()


MODEL_KIND = "model"
"""The backend behind every ``provider/model``."""
PROBES: Registry[ProbeKind] = Registry("limner.probes", "probe", ProbeKind)


def evidence_names() -> tuple[str, ...]:
    """Everything that can be measured here; nothing is loaded."""
    return tuple(dict.fromkeys([*EVIDENCE, *(name.partition(".")[0] for name in PROBES.names())]))


def split_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options that name who measured some evidence, and the others: those a judge is asked with."""
    measured = evidence_names()
    return (
        {name: value for name, value in options.items() if name in measured},
        {name: value for name, value in options.items() if name not in measured},
    )


def backends_of(evidence: str) -> list[str]:
    """The backends that measure this; nothing is loaded."""
    found = [backend for name, _, backend in (one.partition(".") for one in PROBES.names()) if name == evidence]
    return sorted(found, key=lambda backend: backend == MODEL_KIND)


def probe_kind(evidence: str, backend: str, option: str) -> ProbeKind:
    """The backend of this name.

    Raises:
        UsageError: There is none; `option` says where the word was given.
    """
    PROBES.own()
    there = backends_of(evidence)
    if backend not in there:
        usages = [PROBES.usage(f"{evidence}.{name}") for name in there]
        raise UsageError(f"{option}: there is {', '.join(usages) or 'none'}")
    return PROBES.get(f"{evidence}.{backend}")
