"""Reviews and their results: each reviewer votes for one state of an item, and agreement settles it.

An item has several states: the one that came to review, and one after each change. A state's id is its hash. A change
to the state on the screen (``base``) creates a new one; the work of other reviewers is never overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import sqlalchemy as sa
from pydantic import BaseModel, Field, ValidationError

from ..calls import digest
from ..core.errors import UsageError
from ..core.schema import StrictModel, first_error, read_model
from ..store import Store, now
from ..store.schema import builds, content_columns
from .base import BuildItem, BuildStep, Code, Dropped, GenericSettings, StepContext, StepOutcome, Waiting

Action = Literal["accept", "edit", "add", "reject", "comment", "settle"]
Verdict = Literal["open", "disputed", "accepted", "rejected"]
ACTIONS: tuple[str, ...] = get_args(Action)
REJECTED = "rejected"
"""The vote of a reviewer who rejects the item, instead of a state."""


@dataclass(frozen=True)
class Review:
    """One action of a reviewer.

    Attributes:
        action: ``accept`` the state `base`; ``edit`` it: fields of `body` replace its fields; ``add``: lists in `body`
            are appended to its lists, or, without `base`, the body is a new item; ``reject`` the item; only
            ``comment``; or ``settle`` a dispute for `base`, changed by `body`, or against the item if `base` is None.
        base: The state that it applies to, by `state_id`; `state` is that state itself.
        step: The review, by its name in the recipe.
    """

    build: str
    item: str
    reviewer: str
    action: str
    base: str | None = None
    body: dict[str, Any] | None = None
    comment: str | None = None
    created: float = field(default_factory=now)
    id: str = ""
    state: dict[str, Any] | None = None
    step: str = "review"


def state_id(body: Mapping[str, Any]) -> str:
    """Return the id of an item's state."""
    return digest("state", body)


@dataclass(frozen=True)
class ReviewStanding:
    """The result of an item's review so far.

    Attributes:
        verdict: ``open`` (too few reviewers), ``disputed``, ``accepted`` or ``rejected``.
        body: The valid state: the settled one, or the one that came to review.
        states: Every state by its id.
        votes: Reviewer -> the state voted for, or `REJECTED`.
        changed: The fields that an earlier step has changed since the item was judged; what was judged still counts,
            until reviewers choose the new state, `arrived`.
    """

    verdict: Verdict
    body: Mapping[str, Any]
    states: Mapping[str, Mapping[str, Any]]
    votes: Mapping[str, str]
    changed: tuple[str, ...] = ()
    arrived: str = ""


def apply_review(body: Mapping[str, Any], review: Review) -> dict[str, Any]:
    """Return a state after a review."""
    given = review.body or {}
    if review.action != "add":
        return {**body, **given}
    return {**body, **{name: [*body.get(name, ()), *more] for name, more in given.items()}}


def review_standing(body: Mapping[str, Any], reviews: Sequence[Review], reviewers: int) -> ReviewStanding:
    """Return the result of an item's review so far.

    Args:
        body: The item as it came to review; empty for one that a reviewer has added.
        reviews: Its reviews, oldest first.
        reviewers: The number of reviewers who must vote for the same state.
    """
    first = state_id(body)
    states: dict[str, Mapping[str, Any]] = {first: body} if body else {}
    votes: dict[str, str] = {}
    settled: str | None = None
    judged: Mapping[str, Any] = body
    for review in reviews:
        if review.action == "comment":
            continue
        if review.base == first:
            judged = body
        elif review.base and review.base not in states and review.state and state_id(review.state) == review.base:
            states[review.base] = judged = review.state
        vote = _vote(review, states)
        if review.action == "settle" and vote is not None:
            settled = vote
        elif vote is not None:
            votes[review.reviewer] = vote
            settled = settled if settled in (None, vote) else None  # A different vote after a decision reopens it.
    if settled is None and len(votes) >= max(1, reviewers) and len(set(votes.values())) == 1:
        settled = next(iter(votes.values()))
    verdict: Verdict = "disputed" if len(set(votes.values())) > 1 else "open"
    if settled is not None:
        verdict = "rejected" if settled == REJECTED else "accepted"
    changed = tuple(sorted(name for name in body if judged.get(name, ...) != body[name]))
    return ReviewStanding(verdict, states.get(settled or "", body), states, votes, changed, first)


def _vote(review: Review, states: dict[str, Mapping[str, Any]]) -> str | None:
    """Return the state that a review votes for, adding a new one; None if it refers to a state that does not exist."""
    if review.action == "add" and review.base is None and review.body:
        states.setdefault(made := state_id(review.body), review.body)
        return made
    if review.action == "reject" or (review.action == "settle" and review.base is None):
        return REJECTED if review.base is None or review.base in states else None
    if review.base not in states:
        return None
    if review.action == "accept":
        return review.base
    made = state_id(after := apply_review(states[review.base], review))
    states.setdefault(made, after)
    return made


def why_not_saved(old: Any, new: Any, rubric: type[BaseModel] | None = None, path: str = "") -> str | None:
    """Return why a changed version cannot be saved: its structure differs, or it does not fit the exam's rubric."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if lost := sorted(map(str, old.keys() - new.keys())):
            return f"{path}{lost[0]} is missing"
        for name, value in old.items():
            if why := why_not_saved(value, new[name], None, f"{path}{name}."):
                return why
    elif isinstance(old, list) and isinstance(new, list):
        like = [entry for entry in old if isinstance(entry, Mapping)]
        for n, value in enumerate(new):
            if like and not isinstance(value, Mapping):
                return f"{path}{n + 1} must be an object"
    elif old is not None and new is not None and _type_name(old) != _type_name(new):
        return f"{path.rstrip('.')} must be {_type_name(old)}, not {_type_name(new)}"
    if rubric is not None and isinstance(new, Mapping) and rubric.model_fields.keys() <= new.keys():
        try:
            rubric.model_validate({name: new[name] for name in rubric.model_fields})
        except ValidationError as error:
            return first_error(error)
    return None


def _type_name(value: Any) -> str:
    names = {bool: "true or false", str: "a text", Mapping: "an object", list: "a list", int | float: "a number"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "empty")


NAME = re.compile(r"[\w][\w .@-]{0,79}")


@dataclass(frozen=True)
class Reviewer:
    """A reviewer.

    Attributes:
        token: The hash of the link's token; the token itself is not stored.
        settles: Whether this reviewer decides when others disagree.
    """

    name: str
    token: str
    settles: bool = False


def load_reviewers(store: Store, build: str) -> dict[str, Reviewer]:
    """Return all invited reviewers, by name."""
    with store.reading() as connection:
        return _reviewers(connection, build)


def save_reviewer(store: Store, build: str, reviewer: Reviewer) -> None:
    """Store a reviewer; an earlier link of this reviewer stops working.

    Raises:
        UsageError: The name is not valid.
    """
    if not NAME.fullmatch(reviewer.name):
        raise UsageError(
            f"{reviewer.name!r} is not a valid name: use at most 80 letters, digits, blanks, dots, dashes and @"
        )

    def operation(connection: sa.Connection) -> None:
        everybody = _reviewers(connection, build) | {reviewer.name: reviewer}
        row = connection.execute(sa.select(*content_columns(builds)).where(builds.c.name == build)).mappings().one()
        kept = {name: {k: v for k, v in asdict(each).items() if k != "name"} for name, each in everybody.items()}
        store.upsert(connection, builds, {**row, "body": {**row["body"], "reviewers": kept}})

    store.write(operation)


def _reviewers(connection: sa.Connection, build: str) -> dict[str, Reviewer]:
    body = connection.execute(sa.select(builds.c.body).where(builds.c.name == build)).scalar_one()
    return {name: Reviewer(name, **given) for name, given in sorted(body.get("reviewers", {}).items())}


FILE = "review.toml"


class FieldHint(StrictModel):
    """The display of one field.

    Attributes:
        kind: ``line`` or ``long`` for texts, ``choice`` among `choices`, ``key`` for one of the keys of its neighbour
            `of`, ``fixed`` for a field that cannot be changed, ``hidden`` for one that is not shown.
        label: Its label.
    """

    kind: Literal["line", "long", "choice", "key", "fixed", "hidden"] | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()
    of: str | None = None


class ReviewHints(StrictModel):
    """The display of items.

    Attributes:
        title: The field with an item's title.
        guide: What reviewers should look for.
        pictures: Fields with hashes of pictures.
        drawings: Fields with SVG.
        texts: Fields with text for reference.
        fields: Path of a field, with ``*`` for list positions -> its display.
    """

    title: str = ""
    guide: str = "Is it right, clear and complete? Accept it, correct it, add what is missing, or reject it."
    pictures: tuple[str, ...] = ("image",)
    drawings: tuple[str, ...] = ()
    texts: tuple[str, ...] = ("source_text", "caption")
    fields: dict[str, FieldHint] = Field(default_factory=dict)


def read_hints(folder: Path) -> ReviewHints:
    """Return a recipe's hints, or the usual ones."""
    path = folder / FILE
    return read_model(path, ReviewHints) if path.is_file() else ReviewHints()


CHANGED = "changed_since_review"
"""The field with the names of fields that earlier steps have changed since people judged an item."""
KEPT = "kept_by_review"
"""The field with why an earlier step would now drop an item that people have reviewed: they decide."""


class ReviewSettings(GenericSettings):
    """The settings of a review.

    Attributes:
        reviewers: The number of reviewers who must agree; with 0, nothing is reviewed, and the datasheet says so.
        fields: The fields that reviewers see and may change; all if empty.
        write: A field that reviewers write; items that have it already are not reviewed.
    """

    reviewers: int = Field(default=3, ge=0)
    fields: tuple[str, ...] = ()
    write: str = ""

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the field that it writes."""
        return replace(step, writes=(self.write or "reviewers",))

    def shown(self, item: BuildItem) -> dict[str, object]:
        """Return the fields of an item that reviewers see."""
        empty = {self.write: ""} if self.write else {}
        return empty | {name: value for name, value in item.body.items() if not self.fields or name in self.fields}

    def takes(self, item: BuildItem, reviews: Sequence[Review]) -> bool:
        """Return whether an item is reviewed: not if nobody is asked, or if it has what reviewers would write."""
        return bool(reviews or (self.reviewers and not (self.write and item.body.get(self.write))))


def added_items(step: str, reviews: Mapping[str, Sequence[Review]]) -> set[str]:
    """Return the items that reviewers have added to a review."""
    return {
        id for id, done in reviews.items()
        if any(review.action == "add" and review.base is None and review.step == step for review in done)
    }  # fmt: skip


def reviews_of(step: str, reviews: Sequence[Review]) -> list[Review]:
    """Return the reviews of an item that belong to one step."""
    return [review for review in reviews if review.step == step]


async def _review(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    how: ReviewSettings = context.settings
    left: dict[str, StepOutcome] = {}
    by_id = {item.id: item for item in items}
    for id in sorted(by_id.keys() | added_items(context.place, context.reviews)):
        item = by_id.get(id) or BuildItem(id, {})
        done = reviews_of(context.place, context.reviews.get(id, ()))
        if not how.takes(item, done):
            left[id] = item if how.write else item.having(reviewers=[])
            continue
        standing = review_standing(how.shown(item), done, how.reviewers)
        if standing.verdict == "accepted" and how.write and not standing.body[how.write]:
            left[id] = Waiting(f"review: {how.write} is empty")
        elif standing.verdict == "accepted":
            changed = {CHANGED: list(standing.changed)} if standing.changed else {}
            people = {} if how.write else {"reviewers": sorted(standing.votes)}
            left[id] = item.having(**standing.body, **changed, **people)
        elif standing.verdict == "rejected":
            comments = "; ".join(each.comment for each in done if each.action in ("reject", "settle") and each.comment)
            left[id] = Dropped("rejected in review", comments)
        elif standing.verdict == "disputed":
            opinions = len(set(standing.votes.values()))
            left[id] = Waiting(f"disputed: {opinions} opinions of {len(standing.votes)} reviewers")
        else:
            left[id] = Waiting(f"review: {len(standing.votes)} of {how.reviewers} reviewers")
    return left


REVIEW = BuildStep(
    "review", "reviewers accept, edit, add or reject; they must agree", ReviewSettings, together=_review,
    reviewed=True,
)  # fmt: skip
