from __future__ import annotations

from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.running.plan import make_arms
from tests.strategies.support import Brush, Mind, said_by_studio

opened: list[tuple[str, dict[str, Any]]] = []


def arms(painters: list[Any], strategies: list[str], **given: str) -> list[tuple[str, str]]:
    def mind(spec: str, args: dict[str, Any]) -> Any:
        opened.append((spec, args))
        return Mind(said_by_studio, spec)

    made = make_arms(painters, strategies, given, mind, lambda spec, args: Brush(spec))
    return [(arm.painter.name, arm.strategy.name) for arm in made]


def test_every_painter_draws_by_every_strategy() -> None:
    assert arms([Brush("a"), Brush("b")], []) == [("a", "direct"), ("b", "direct")]
    assert arms([Brush("a"), Brush("b")], ["direct", "reason"], planner="x/y") == [
        ("a", "direct"), ("b", "direct"), ("a", "reason[planner=x/y]"), ("b", "reason[planner=x/y]"),
    ]  # fmt: skip


def test_svg_runs_without_painter_or_beside_other_strategies() -> None:
    assert arms([], ["svg"], coder="x/y") == [("svg/x/y", "svg[coder=x/y]")]
    assert arms([Brush("a")], ["direct", "svg"], coder="x/y")[0] == ("a", "direct")
    with pytest.raises(UsageError, match="leave --painter out"):
        arms([Brush("a")], ["svg"], coder="x/y")


def test_each_strategy_is_named_by_its_own_options() -> None:
    planned = arms([Brush("a")], ["reason", "best-of-2"], planner="x/y", chooser="x/z", style="r1")
    assert [name for _, name in planned] == ["reason[planner=x/y,style=r1]", "best-of-2[chooser=x/z]"]


@pytest.mark.parametrize(
    ("strategies", "given", "message"),
    [
        (["reason"], {}, "name its planner"),
        (["reason"], {"planner": "x/y", "plannner": "z"}, "-S plannner: no such option"),
        ([], {"planner": "x/y"}, "none without a --strategy"),
        (["direct", "best-of-2"], {"chooser": "x/y", "editor": "q"}, "-S editor: no such option"),
    ],
)
def test_wrong_strategy_options_are_reported(strategies: list[str], given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        arms([Brush("a")], strategies, **given)


def test_option_unused_by_edit_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="-S rounds: no such option"):
        arms([Brush("a")], ["edit"], edit="plain", rounds="3")
    assert arms([Brush("a")], ["edit"], edit="plain") == [("a", "edit[edit=plain]")]
    with pytest.raises(UsageError, match="it must be one of: critique, plain"):
        arms([Brush("a")], ["edit"], edit="twice", critic="x/y", chooser="x/y")
