"""The catalogue of models: what is known of each, with dates; as shipped, and as the user has refreshed it since."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from .errors import DataError, UsageError
from .schema import StrictModel

SHIPPED = Path(__file__).parent / "models.toml"
ENDING_DAYS = 90
"""How long before its end a model is warned of."""
FOLDER_VARIABLE, DAY_VARIABLE = "LIMNER_CONFIG", "LIMNER_TODAY"
State = Literal["gone", "ending", "current"]


class ModelFacts(StrictModel):
    """What is known of one model: who made it, how long it lives, dollars per million tokens with date and source.

    Attributes:
        shutdown: The first day on which its service no longer has it.
        successor: The model that its maker names instead.
        confirmed: Whether every fact was found in pages of its maker or its service.
        image_input: Whether it sees pictures, where that is known.
        paper_names: What it is called in the papers' tables.
        max_output_tokens: The most it writes in one reply, where no argument limits it.
        image_tokens: The most one picture is counted as.
        image_input_price: Dollars per million tokens of pictures sent to an image model, where not `input_price`.
        batch_share: The part of the price that a call in a batch costs, where that is not what its service says.
    """

    maker: str | None = None
    released: date | None = None
    shutdown: date | None = None
    successor: str | None = None
    confirmed: bool = True
    image_input: bool | None = None
    paper_names: tuple[str, ...] = ()
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    image_tokens: int = Field(default=3000, ge=0)
    image_input_price: float | None = Field(default=None, ge=0)
    batch_share: float | None = Field(default=None, gt=0, le=1)
    priced_on: str | None = None
    source: str | None = None


class PainterFacts(StrictModel):
    """What is known of one painter: what tables group by, what it takes, what it costs.

    Attributes:
        access: Whether its weights are ``closed`` or ``open``.
        kind: Such as ``diffusion`` or ``unified``.
        parameters: Its size in words, such as ``12B``.
        sizes: Width and height as the service writes them, by aspect.
        prompt_limit: The longest prompt it reads, in characters, as its documentation says.
        over_limit: What its documentation says of a longer one: ``refused``, which is then not sent, or ``cut``. Where
            nothing is said, it is sent and the service decides.
        encoder_tokens: How many tokens of a prompt its text encoder reads.
        option_names: What it calls ``guidance`` or ``steps``, where its shape has several names for it.
        image_input: Whether it starts from pictures; as the provider says, where nothing is said here.
        prompt_group: Which drawing prompt it gets from exams that have two.
        image_price: Dollars per image; where tokens are charged, see `ModelFacts`.
        edit_price: Dollars per image that starts from pictures, where that is not `image_price`.
        image_bound: The most one image can cost, where tokens are charged.
        bound_for: By option, the values for which `image_bound` holds; with any other the most is not known.
    """

    access: Literal["closed", "open"] | None = None
    kind: str | None = None
    parameters: str | None = None
    resolution: str | None = None
    sizes: dict[Literal["square", "landscape", "portrait"], str] = Field(default_factory=dict)
    prompt_limit: int | None = None
    over_limit: Literal["refused", "cut"] | None = None
    encoder_tokens: int | None = Field(default=None, gt=0)
    option_names: dict[Literal["guidance", "steps"], str] = Field(default_factory=dict)
    image_input: bool | None = None
    prompt_group: Literal["closed", "open"] | None = None
    image_price: float | None = Field(default=None, ge=0)
    edit_price: float | None = Field(default=None, ge=0)
    image_bound: float | None = Field(default=None, ge=0)
    bound_for: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    priced_on: str | None = None
    source: str | None = None

    def beyond_limit(self, prompt: str) -> Literal["refused", "cut"] | None:
        """What is known to happen to this prompt for its length; None for one that fits, or where nobody knows."""
        return self.over_limit if self.prompt_limit is not None and len(prompt) > self.prompt_limit else None


def folder() -> Path:
    """Return the user's configuration folder, whatever folder they work in."""
    if own := os.environ.get(FOLDER_VARIABLE):
        return Path(own)
    import click

    return Path(click.get_app_dir("limner"))


def refreshed_file() -> Path:
    """Where the rows are kept that `limner models update` brought."""
    return folder() / "models.json"


def refreshed_rows() -> dict[str, Any]:
    """Return the rows that the user has refreshed, by kind and name.

    Raises:
        DataError: The file is no longer what was written there.
    """
    path = refreshed_file()
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot be read ({error}); delete it and update once more", file=path) from error
    kinds = {"models", "painters"}
    if not isinstance(found, dict) or not all(isinstance(found.get(kind, {}), dict) for kind in kinds):
        raise DataError("holds no catalogue; delete it and update once more", file=path)
    return {kind: found[kind] for kind in kinds & found.keys()}


def today() -> date:
    """Return the day by which models live or are gone; another one may be named in LIMNER_TODAY."""
    word = os.environ.get(DAY_VARIABLE)
    try:
        return date.fromisoformat(word) if word else date.today()
    except ValueError as error:
        raise UsageError(f"{DAY_VARIABLE}={word}: a day is written as 2026-11-16") from error


def state_of(facts: ModelFacts, day: date) -> State:
    """Whether a model is gone, ends within `ENDING_DAYS`, or neither."""
    if facts.shutdown is None or facts.shutdown - day > timedelta(ENDING_DAYS):
        return "current"
    return "gone" if facts.shutdown <= day else "ending"


def successor_of(name: str, models: Mapping[str, ModelFacts], day: date) -> str | None:
    """Return the first of a model's successors, and theirs, that is not gone; None where none is known.

    >>> gone = ModelFacts(shutdown=date(2026, 1, 1), successor="b")
    >>> successor_of("a", {"a": gone, "b": gone.model_copy(update={"successor": "c"})}, date(2026, 2, 1))
    'c'
    """
    seen = {name}
    while (facts := models.get(name)) is not None and facts.successor is not None and facts.successor not in seen:
        name = facts.successor
        seen.add(name)
        if name not in models or state_of(models[name], day) != "gone":
            return name
    return None


def warnings(names: Iterable[str], models: Mapping[str, ModelFacts], day: date) -> dict[str, str]:
    """Return what is to be said of those models that are gone or going, by name."""
    found: dict[str, str] = {}
    for name in names:
        facts = models.get(name, ModelFacts())
        state = state_of(facts, day)
        if state == "current":
            continue
        said = "is gone since" if state == "gone" else "will be gone on"
        unsure = "" if facts.confirmed else ", which is not confirmed"
        heir = successor_of(name, models, day)
        found[name] = f"{name} {said} {facts.shutdown}{unsure}" + (f"; its successor is {heir}" if heir else "")
    return found


class Costly(Protocol):
    """A painter, judge or probe."""

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None when that is known."""
        ...


@runtime_checkable
class Priced(Protocol):
    """What those have that may cost money; one that lacks it, and whose price is no secret, is free."""

    def price(self) -> tuple[float | None, str]:
        """Dollars for one image, marking or measurement, and how that is known; None where it is not."""
        ...


@runtime_checkable
class PricedEditor(Priced, Protocol):
    """A painter whose images may cost more that start from pictures."""

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """Dollars for one image that starts from so many pictures, and how that is known; None where it is not."""
        ...


def price_of(one: Costly, pictures: float = 0) -> tuple[float | None, str]:
    """Dollars for one image, marking or measurement that starts from so many pictures, and how that is known."""
    if pictures and isinstance(one, PricedEditor):
        return one.edit_price(pictures)
    if isinstance(one, Priced):
        return one.price()
    return (0.0, "free") if one.unpriced() is None else (None, "no price")
