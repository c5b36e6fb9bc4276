"""What the wording of a judge's prompts is called: the shipped one, the user's own, or the release's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.asks import Variant
from ..core.errors import UsageError
from ..core.prompts import Prompts

if TYPE_CHECKING:
    from . import Kind

SHIPPED, OWN = "shipped", "own"
SHORT = 4
"""As many letters of a hash tell a wording."""


def is_shipped(kind: Kind[Any], setup: Mapping[str, Any]) -> bool:
    """Return whether a judge was asked in the wording that this Limner ships."""
    variant = Variant(str(setup.get("variant")), Prompts(kind.prompts), setup.get("options") or {})
    try:
        return bool(setup.get("templates") == variant.prompts.hash(*kind.protocol.templates(variant)))
    except (UsageError, KeyError):
        return False  # A variant that the exam does not have.


def wording_names(kind: Kind[Any], setup: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all that the wording of a way of asking can be called; nothing where it has none, as imported replies.

    ``own 3f2a`` is a user's, by its hash; ``release 3f2a`` or ``release`` that of a clone of the release; ``labels-1``
    the OCR examiner's rules.
    """
    if "rules" in setup:
        return (str(setup["rules"]),)
    if "templates" not in setup:
        return ()
    if is_shipped(kind, setup):
        return (SHIPPED,)
    given = setup.get("prompts")
    name = f"{given or OWN} {str(setup['templates'])[:SHORT]}"
    return (name, given) if given else (name,)
