"""The rows of a paper's tables: the painter for each, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ... import exams
from ...core import catalogue
from ...core.errors import UsageError
from ...core.evaluator import name_and_spec, without_options
from ...core.settings import Settings
from ...painters import PAINTERS
from ..paper.holdings import plain_name
from .request import PaperJudge, PaperList, PaperRow, Reproduction

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
        asked: The request, with the user's replacements of judges, models in strategies and options.
        stored: The painters whose drawings the store has.
        given: The user's painters in place of the paper's models, by plain name.
        own: The user's own painters, by name.
        only: The plain names of the requested rows; None for all.
    """

    asked: Reproduction
    listing: PaperList
    settings: Settings
    stored: Sequence[StoredPainter] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None

    @classmethod
    def make(
        cls,
        asked: Reproduction,
        listing: PaperList,
        names: Collection[str],
        settings: Settings,
        stored: Sequence[StoredPainter] = (),
    ) -> RowFinder:
        """Sort the user's painters into models of the paper (`names`) and others, and return the finder.

        Raises:
            UsageError: A word is neither a model of the paper nor a painter.
        """
        models = (row.model for row in listing.rows.values() if row.model)
        paper_names = {plain_name(name) for name in (*names, *models)}
        given: dict[str, str] = {}
        own: dict[str, str] = {}
        only: set[str] = set()
        for word in asked.painters:
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
        return cls(asked, listing, settings, stored, given, own, frozenset(only) if only or own else None)

    def wanted(self, name: str) -> bool:
        """Return whether a row is requested, by its own name or by its model's."""
        model = self.listing.rows.get(name, PaperRow()).model or name
        return self.only is None or bool({plain_name(name), plain_name(model)} & self.only)

    def find(self, name: str) -> WantedRow:
        """Return the row of this name."""
        row = self.listing.rows.get(name, PaperRow())
        model = row.model or name
        given = self.given.get(plain_name(name)) or self.given.get(plain_name(model))
        preset = row.preset or self.listing.preset
        minds = self._minds(row)
        wanted = WantedRow(name, None, "", row.strategy, minds, preset, row.painter_args, note=row.note)
        if row.cannot is not None and given is None:
            return replace(wanted, cannot=row.cannot)
        gone = next((word for role, spec in minds.items() if (word := self._gone(spec, f"-S {role}=SPEC"))), None)
        wanted = replace(wanted, cannot=gone or self._marker(preset))
        if row.model == "":
            return wanted
        made = next((painter for painter in self.stored if row.requires and self._made_so(name, row, painter)), None)
        if made is not None and given is None:
            return replace(wanted, word=f"{made.name}={made.spec}", spec=made.spec, painter_args=dict(made.options))
        spec = given or self._spec(model)
        if spec is None:
            unknown = f"Limner does not know a model of this name; name a painter with {_painter_option(name)}"
            return replace(wanted, cannot=unknown)
        wanted = replace(wanted, spec=spec)
        if given is not None and spec.startswith(FINISHED):
            wanted = replace(wanted, strategy=None, strategy_options={}, painter_args={}, cannot=self._marker(preset))
        elif given is not None or row.requires:
            # Arguments of the paper's painter do not apply to another one, but for those of a trained model.
            args = {**(row.painter_args if row.requires else {}), **self.asked.painter_args}
            wanted = replace(wanted, painter_args=args, cannot=self._required(row) or wanted.cannot)
        if given is not None or row.requires:
            called = name if given is None or "/" in model else model
            return replace(wanted, word=f"{_slug(called)}={spec}")
        # Reuse drawings that are stored under another name, so that they are not paid for again.
        names = sorted(painter.name for painter in self.stored if painter.spec == spec)
        word = spec if spec in names or not names else f"{names[0]}={spec}"
        return replace(wanted, word=word, cannot=self._lacking(name, spec) or wanted.cannot)

    def plain_label(self, label: str) -> str:
        """Return a painter's label without options, unless the store has the painter with others too."""
        name = without_options(label)
        ways = [painter.options for painter in self.stored if painter.name == name]
        return name if all(options == ways[0] for options in ways) else label

    def _minds(self, row: PaperRow) -> dict[str, str]:
        """Return a row's strategy options, with the user's models in place of the paper's."""
        return {role: self.asked.strategy_options.get(role, value) for role, value in row.strategy_options.items()}

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
        if (given := self.asked.other_judges.get(plain_name(name))) is not None:
            return judge.model_copy(update={"judge": given, "cannot": None})
        if judge.cannot or judge.judge is None:
            return judge
        return judge.model_copy(update={"cannot": self._gone(judge.judge, f"--judge '{name}=SPEC'")})

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
        lacking = [option for option in row.requires if option not in self.asked.painter_args]
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
        return self._gone(spec, _painter_option(name))

    def _marker(self, preset: str) -> str | None:
        """Return why a preset's judge cannot mark; None if it can."""
        judge = exams.kind(self.asked.kind).all_presets.get(preset, {}).get("judge")
        return self._gone(judge, "--judge SPEC") if judge and not self.asked.judge else None

    def _gone(self, spec: str, replacing: str) -> str | None:
        """Return that a model is gone, and the option that replaces it; None if it is there, or not a model."""
        facts, day = self.settings.models.get(spec), catalogue.today()
        if facts is None or catalogue.state_of(facts, day) != "gone":
            return None
        return f"{catalogue.lifetime_warnings([spec], self.settings.models, day)[spec]}; replace it with {replacing}"


def _painter_option(name: str, spec: str = "SPEC") -> str:
    return f"--painter '{name}={spec}'"


def _slug(name: str) -> str:
    """Return a name that is valid in commands and has the same `plain_name` as the paper's.

    >>> _slug("FLUX.1-[dev] (recaption)")
    'FLUX.1-dev-recaption'
    """
    return re.sub(r"[^\w.:+]+", "-", name).strip("-")
