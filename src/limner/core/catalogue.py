"""The catalogue of models: dated facts about each, as shipped and as refreshed by the user."""

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

MODELS_FILE = Path(__file__).parent / "models.toml"
ENDING_DAYS = 90
"""The number of days before a model's shutdown from which users are warned."""
OLD_DAYS = 60
"""The number of days after which users are told the age of the catalogue."""
FOLDER_VARIABLE, DAY_VARIABLE = "LIMNER_CONFIG", "LIMNER_TODAY"
State = Literal["gone", "ending", "current"]


class ModelFacts(StrictModel):
    """Facts about one model: maker, dates, and prices in dollars per million tokens with date and source.

    Attributes:
        shutdown: The first day on which its service no longer offers it.
        successor: The replacement named by its maker.
        confirmed: Whether every fact was confirmed by pages of its maker or service.
        image_input: Whether it accepts pictures; None if unknown.
        paper_names: Its names in the papers' tables.
        efforts: The values of ``reasoning_effort`` that it accepts; any if empty.
        max_output_tokens: The maximum length of a reply if no argument limits it.
        image_tokens: The maximum number of tokens for one picture.
        image_input_price: Dollars per million input tokens of pictures, if different from `input_price`.
        batch_share: The price of a call in a batch as a share of the usual price, if different from its service's.
    """

    maker: str | None = None
    released: date | None = None
    shutdown: date | None = None
    successor: str | None = None
    confirmed: bool = True
    image_input: bool | None = None
    paper_names: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    image_tokens: int = Field(default=3000, ge=0)
    image_input_price: float | None = Field(default=None, ge=0)
    batch_share: float | None = Field(default=None, gt=0, le=1)
    priced_on: str | None = None
    source: str | None = None


class PainterFacts(StrictModel):
    """Facts about one painter: its group in tables, the input it accepts, and its cost.

    Attributes:
        access: Whether its weights are ``closed`` or ``open``.
        kind: Its kind of model, such as ``diffusion`` or ``unified``.
        parameters: Its size as text, such as ``12B``.
        sizes: Aspect -> width and height, in the service's notation.
        prompt_limit: The maximum length of a prompt in characters, according to its documentation.
        over_limit: What happens to longer prompts, according to its documentation: ``refused``, so they are not sent,
            or ``cut``. If None, they are sent and the service decides.
        encoder_tokens: The number of a prompt's tokens that its text encoder reads.
        option_names: Its names for ``guidance`` and ``steps``, if its wire format has several.
        image_input: Whether it accepts input pictures; by default as its provider.
        prompt_group: Which drawing prompt it gets from exams that have two.
        image_price: Dollars per image; for prices by token, see `ModelFacts`.
        edit_price: Dollars per image drawn from input pictures, if different from `image_price`.
        image_bound: The maximum cost of one image, for prices by token.
        bound_for: Option -> the values for which `image_bound` holds; for others the maximum is unknown.
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
        """Return what happens to a prompt that is too long; None if it is not, or if that is unknown."""
        return self.over_limit if self.prompt_limit is not None and len(prompt) > self.prompt_limit else None


def config_folder() -> Path:
    """Return the user's configuration folder, which does not depend on the working folder."""
    if own := os.environ.get(FOLDER_VARIABLE):
        return Path(own)
    import click

    return Path(click.get_app_dir("limner"))


def refreshed_file() -> Path:
    """Return the file with the rows that `limner models update` fetched."""
    return config_folder() / "models.json"


def refreshed_rows() -> dict[str, Any]:
    """Return the rows refreshed by the user, by kind and name.

    Raises:
        DataError: The file cannot be read, or is not a catalogue.
    """
    path = refreshed_file()
    try:
        rows = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot be read ({error}); delete it and run `limner models update`", file=path) from error
    kinds = {"models", "painters"}
    if not isinstance(rows, dict) or not all(isinstance(rows.get(kind, {}), dict) for kind in kinds):
        raise DataError("is not a catalogue; delete it and run `limner models update` again", file=path)
    return {kind: rows[kind] for kind in kinds & rows.keys()}


def today() -> date:
    """Return the current date, for deciding which models are available; LIMNER_TODAY overrides it."""
    word = os.environ.get(DAY_VARIABLE)
    try:
        return date.fromisoformat(word) if word else date.today()
    except ValueError as error:
        raise UsageError(f"{DAY_VARIABLE}={word} is not a day; write it as 2026-11-16") from error


def age_hint(models: Mapping[str, ModelFacts], painters: Mapping[str, PainterFacts], day: date) -> str | None:
    """Return a hint at the age of the newest price if it is over `OLD_DAYS`; None if it is not.

    >>> age_hint({"a": ModelFacts(priced_on="2026-01-01")}, {}, date(2026, 4, 1))
    'the prices are of 2026-01-01, 90 days ago; `limner models update` fetches newer ones'
    """
    dates = [*(facts.priced_on for facts in models.values()), *(facts.priced_on for facts in painters.values())]
    days = [each for each in dates if each]
    age = (day - date.fromisoformat(max(days))).days if days else 0
    if age <= OLD_DAYS:
        return None
    return f"the prices are of {max(days)}, {age} days ago; `limner models update` fetches newer ones"


def state_of(facts: ModelFacts, day: date) -> State:
    """Return whether a model is gone, ends within `ENDING_DAYS`, or is current."""
    if facts.shutdown is None or facts.shutdown - day > timedelta(ENDING_DAYS):
        return "current"
    return "gone" if facts.shutdown <= day else "ending"


def successor_of(name: str, models: Mapping[str, ModelFacts], day: date) -> str | None:
    """Return the first of a model's successors that is still available; None if there is none.

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


def lifetime_warnings(names: Iterable[str], models: Mapping[str, ModelFacts], day: date) -> dict[str, str]:
    """Return a warning for each of these models that is gone or soon will be, by name."""
    texts: dict[str, str] = {}
    for name in names:
        facts = models.get(name, ModelFacts())
        state = state_of(facts, day)
        if state == "current":
            continue
        verb = "has been gone since" if state == "gone" else "will be gone on"
        doubt = "" if facts.confirmed else ", which is not confirmed"
        successor = successor_of(name, models, day)
        heir = f"; its successor is {successor}" if successor else ""
        texts[name] = f"{name} {verb} {facts.shutdown}{doubt}{heir}"
    return texts


class Costly(Protocol):
    """A painter, judge or probe that can say why its cost is unknown."""

    def unpriced(self) -> str | None:
        """Return why the cost of one of its calls is unknown, or None if it is known."""
        ...


@runtime_checkable
class Priced(Protocol):
    """A painter, judge or probe whose calls may cost money; those without `price` are free."""

    def price(self) -> tuple[float | None, str]:
        """Return the price in dollars of one image, marking or measurement, None if unknown; and its source."""
        ...


@runtime_checkable
class PricedEditor(Priced, Protocol):
    """A painter that may charge more for images drawn from input pictures."""

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """Return the price in dollars of one image drawn from `pictures` inputs, None if unknown; and its source."""
        ...


def price_of(priced: Costly, pictures: float = 0) -> tuple[float | None, str]:
    """Return the price in dollars, None if unknown, and its source; `pictures` is the number of input pictures."""
    if pictures and isinstance(priced, PricedEditor):
        return priced.edit_price(pictures)
    if isinstance(priced, Priced):
        return priced.price()
    return (0.0, "free") if priced.unpriced() is None else (None, "no price")
