"""Painters with the strategies they draw by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .calls import Calls, Fault
from .errors import UsageError
from .painters import Painter, Painting, PaintRequest
from .painters.base import Free
from .plan import Way
from .strategies import Strategy, known_options, open_strategy
from .strategies.base import Mind
from .words import typed


class NoPainter(Free):
    """Stands where a strategy draws by itself, such as a model that writes SVG."""

    changeable = False

    def __init__(self, name: str) -> None:
        self.name = self.spec = name

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Never asked to."""
        raise Fault("bad_request", f"{self.name} does not draw")


def make_ways(
    painters: Sequence[Painter],
    strategies: Sequence[str],
    given: Mapping[str, str],
    open_mind: Callable[[str, dict[str, Any]], Mind],
    open_editor: Callable[[str, Mapping[str, Any]], Painter],
) -> list[Way]:
    """Every painter by every strategy; a strategy that needs no painter stands alone, named after its model.

    Raises:
        UsageError: An unknown strategy or option, or nobody to draw.
    """
    words = list(dict.fromkeys(strategies)) or ["direct"]
    _check(words, given)
    ways: list[Way] = []
    for word in words:
        strategy = open_strategy(
            word,
            given,
            lambda spec, args: open_mind(spec, _typed(args)),
            lambda spec, args: open_editor(spec, _typed(args)),
        )
        if not strategy.paints:
            ways.append(Way(_no_painter(strategy), strategy))
        elif not painters:
            raise UsageError(f"--strategy {word} needs a painter: name one with --painter")
        else:
            ways += [Way(painter, strategy) for painter in painters]
    if painters and not any(way.painter is painters[0] for way in ways):
        raise UsageError(f"--strategy {words[0]} draws without a painter: leave --painter out, or use svg-prior")
    return ways


def _no_painter(strategy: Strategy) -> NoPainter:
    """Named after the stage that draws, and the model it asks."""
    stage = next(stage for stage in strategy.stages if not stage.paints)
    return NoPainter("/".join([stage.name, *(strategy.models[role].name for role in stage.roles[:1])]))


def _check(words: Sequence[str], given: Mapping[str, str]) -> None:
    known = known_options(list(words))
    for name in given:
        if name.partition(".")[0] not in known:
            there = ", ".join(sorted(known)) if words != ["direct"] else "none without a --strategy"
            raise UsageError(f"-S {name}: no such option; there is: {there}")


def _typed(words: Mapping[str, str]) -> dict[str, Any]:
    return {name: typed(value) for name, value in words.items()}
