"""The rows of a paper's tables: the painter for each, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from ...core import catalogue
from ...core.errors import UsageError
from ...core.evaluator import name_and_spec, without_options
from ...core.settings import Settings
from ...painters import PAINTERS
from ..paper.holdings import plain_name
from .request import PaperJudge, PaperList, PaperRow

OWN_MACHINE = "weights"
"""The prefix of models in the catalogue that no service offers."""
FINISHED = "folder/"
"""The prefix of painters whose pictures are finished: no strategy is applied to them."""


@dataclass(frozen=True)
class WantedRow:
    """A row and how it is drawn.

    Attributes:
        name: The paper's name, or the name of the user's own painter.
        word: The painter as a command-line argument; None if the strategy needs no painter.
        spec: The painter's spec.
        own: Whether it is the user's own painter instead of a row of the paper.
        cannot: The reason why it cannot be drawn, with a remedy.
    """

    name: str
    word: str | None = None
    spec: str = ""
    strategy: str | None = None
    strategy_options: Mapping[str, str] = field(default_factory=dict)
    preset: str = ""
    painter_args: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False
    cannot: str | None = None
    note: str | None = None


class StoredPainter(NamedTuple):
    """A painter of the store with the strategy and options of its drawings."""

    name: str
    spec: str
    strategy: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class RowFinder:
    """A finder of the painter and judge for each row.

    Attributes:
        presets: The exam's presets; `judge_given` is the user's replacement of their judge.
        given: The user's painters in place of the paper's models, by plain name.
        own: The user's own painters, by name.
        judges: The judges in place of the paper's, by plain name.
        helpers: The models in strategies in place of the paper's, by role.
        stored: The painters whose drawings the store has.
        painter_args: The user's options of painters in place of the paper's, and of those that rows require.
        only: The plain names of the requested rows; None for all.
    """

    listing: PaperList
    settings: Settings
    day: date
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    judge_given: str | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    stored: Sequence[StoredPainter] = ()
    painter_args: Mapping[str, Any] = field(default_factory=dict)
    only: frozenset[str] | None = None

    def wanted(self, name: str) -> bool:
        """Return whether a row is requested, by its own name or by its model's."""
        model = self.listing.rows.get(name, PaperRow()).model or name
        return self.only is None or bool({plain_name(name), plain_name(model)} & self.only)

    def find(self, name: str) -> WantedRow:
        """Return the row of this name."""
        row = self.listing.rows.get(name, PaperRow())
        model = row.model or name
        given = self.given.get(plain_name(name)) or self.given.get(plain_name(model))
        minds = self._minds(row)
        how: dict[str, Any] = {
            "strategy": row.strategy,
            "strategy_options": minds,
            "preset": row.preset or self.listing.preset,
            "painter_args": row.painter_args,
            "note": row.note,
        }
        if row.cannot is not None and given is None:
            return WantedRow(name, cannot=row.cannot, **how)
        helper = next((word for word in (self._helper(*option) for option in minds.items()) if word), None)
        helper = helper or self._marker(how["preset"])
        if row.model == "":
            return WantedRow(name, cannot=helper, **how)
        made = next((painter for painter in self.stored if row.requires and self._made_so(name, row, painter)), None)
        if made is not None and given is None:
            how["painter_args"] = dict(made.options)
            return WantedRow(name, f"{made.name}={made.spec}", made.spec, cannot=helper, **how)
        spec = given or self._spec(model)
        if spec is None:
            unknown = f"Limner does not know a model of this name; name a painter with {_painter_option(name)}"
            return WantedRow(name, cannot=unknown, **how)
        if given is not None:
            if spec.startswith(FINISHED):
                how |= {"strategy": None, "strategy_options": {}, "painter_args": {}}
                helper = self._marker(how["preset"])
            else:
                # Arguments of the paper's painter do not apply to another one, but for those of a trained model.
                how["painter_args"] = {**(row.painter_args if row.requires else {}), **self.painter_args}
                helper = self._required(row) or helper
            return WantedRow(name, f"{_slug(name if '/' in model else model)}={spec}", spec, cannot=helper, **how)
        if row.requires:
            how["painter_args"] = {**row.painter_args, **self.painter_args}
            return WantedRow(name, f"{_slug(name)}={spec}", spec, cannot=self._required(row) or helper, **how)
        # Reuse drawings that are stored under another name, so that they are not paid for again.
        names = sorted(painter.name for painter in self.stored if painter.spec == spec)
        word = spec if spec in names or not names else f"{names[0]}={spec}"
        return WantedRow(name, word, spec, cannot=self._lacking(name, spec) or helper, **how)

    def plain_label(self, label: str) -> str:
        """Return a painter's label without options, unless the store has the painter with others too."""
        name = without_options(label)
        ways = [painter.options for painter in self.stored if painter.name == name]
        return name if all(options == ways[0] for options in ways) else label

    def _minds(self, row: PaperRow) -> dict[str, str]:
        """Return a row's strategy options, with the user's models in place of the paper's."""
        return {role: self.helpers.get(role, value) for role, value in row.strategy_options.items()}

    def usual(self, name: str) -> str | None:
        """Return the catalogue's painter for a row, even if the user replaces it."""
        return self._spec(self.listing.rows.get(name, PaperRow()).model or name)

    def mine(self) -> list[WantedRow]:
        """Return the rows of the user's own painters."""
        preset = self.listing.preset
        return [
            WantedRow(name, spec if name == spec else f"{name}={spec}", spec, preset=preset, own=True)
            for name, spec in self.own.items()
        ]

    def judge(self, name: str) -> PaperJudge:
        """Return the judge of this name; its `cannot` says why if it cannot mark."""
        judge = self.listing.judges.get(name)
        if judge is None:
            return PaperJudge(cannot=f"Limner does not know the model that the paper calls {name}")
        if (given := self.judges.get(plain_name(name))) is not None:
            return judge.model_copy(update={"judge": given, "cannot": None})
        if judge.cannot or judge.judge is None:
            return judge
        return judge.model_copy(update={"cannot": self._gone(judge.judge, f"replace it with --judge '{name}=SPEC'")})

    def misnamed(self, painter: StoredPainter) -> bool:
        """Return whether a painter has the name of a row with a strategy or trained weights, but drew without."""
        rows = [(name, row) for name, row in self.listing.rows.items() if plain_name(name) == plain_name(painter.name)]
        return any((row.strategy or row.requires) and not self._made_so(name, row, painter) for name, row in rows)

    def _made_so(self, name: str, row: PaperRow, painter: StoredPainter) -> bool:
        """Return whether a stored painter has a row's name and drew with its strategy and all of its options."""
        minds = self._minds(row).items()
        strategy = f"{row.strategy}[{','.join(f'{key}={value}' for key, value in sorted(minds))}]"
        kept = row.painter_args.items() <= painter.options.items() and row.requires.keys() <= painter.options.keys()
        return kept and (plain_name(painter.name), painter.strategy) == (plain_name(name), strategy)

    def _required(self, row: PaperRow) -> str | None:
        """Return why a row cannot be drawn without an option that only the user can name; None if it is named."""
        lacking = [option for option in row.requires if option not in self.painter_args]
        return f"{row.requires[lacking[0]]}; name it with --painter-arg {lacking[0]}=VALUE" if lacking else None

    def _spec(self, model: str) -> str | None:
        if "/" in model:
            return model
        wanted = plain_name(model)
        return next(
            (spec for spec, facts in self.settings.models.items() if wanted in map(plain_name, facts.paper_names)), None
        )

    def _lacking(self, name: str, spec: str) -> str | None:
        kind, _, rest = spec.partition("/")
        if kind == OWN_MACHINE:
            own = f"{_painter_option(name, 'worker/MODULE:FACTORY')} (`limner docs painters` has an example)"
            return f"no service offers {rest}: wrap its code with {own}, or use pictures with {name}=folder/PATH"
        if kind not in PAINTERS.names() and kind not in self.settings.providers:
            return f"Limner does not know a service that offers it; name a painter with {_painter_option(name)}"
        return self._gone(spec, f"replace it with {_painter_option(name)}")

    def _helper(self, role: str, spec: str) -> str | None:
        """Return why a strategy's model cannot be asked; None if it can, or if the option is not a model."""
        return self._gone(spec, f"replace it with -S {role}=SPEC")

    def _marker(self, preset: str) -> str | None:
        """Return why a preset's judge cannot mark; None if it can."""
        judge = self.presets.get(preset, {}).get("judge")
        return self._gone(judge, "replace it with --judge SPEC") if judge and not self.judge_given else None

    def _gone(self, spec: str, otherwise: str) -> str | None:
        facts = self.settings.models.get(spec)
        if facts is None or catalogue.state_of(facts, self.day) != "gone":
            return None
        return f"{catalogue.lifetime_warnings([spec], self.settings.models, self.day)[spec]}; {otherwise}"


def row_finder(
    listing: PaperList,
    names: Collection[str],
    painters: Iterable[str],
    settings: Settings,
    presets: Mapping[str, Mapping[str, Any]],
    *,
    judge: str | None,
    judges: Mapping[str, str],
    helpers: Mapping[str, str],
    stored: Sequence[StoredPainter] = (),
    painter_args: Mapping[str, Any] | None = None,
) -> RowFinder:
    """Sort the user's painters into models of the paper (`names`) and others, and return the finder.

    Raises:
        UsageError: A word is neither a model of the paper nor a painter.
    """
    paper_names = {plain_name(name) for name in names}
    paper_names |= {plain_name(row.model) for row in listing.rows.values() if row.model}
    given: dict[str, str] = {}
    own: dict[str, str] = {}
    only: set[str] = set()
    for word in painters:
        head, sep, spec = word.partition("=")
        if plain_name(word) in paper_names:
            only.add(plain_name(word))
        elif sep and plain_name(head) in paper_names:
            only.add(plain_name(head))
            given[plain_name(head)] = spec
        elif "/" in word:
            name, spec = name_and_spec(word)
            own[name] = spec
        else:
            raise UsageError(f"--painter {word}: the paper has no such model; it has: {', '.join(names)}")
    limited = frozenset(only) if only or own else None
    return RowFinder(
        listing, settings, catalogue.today(), presets, judge, given, own, judges, helpers, stored,
        painter_args or {}, limited,
    )  # fmt: skip


def _painter_option(name: str, spec: str = "SPEC") -> str:
    return f"--painter '{name}={spec}'"


def _slug(name: str) -> str:
    """Return a name that is valid in commands and has the same `plain_name` as the paper's.

    >>> _slug("FLUX.1-[dev] (recaption)")
    'FLUX.1-dev-recaption'
    """
    return re.sub(r"[^\w.:+]+", "-", name).strip("-")
