"""The tables of a store; times are seconds since 1970, and JSON columns hold data that is never searched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import (
    JSON,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from ..core.errors import StoreError

VERSION = 4
"""The version of the tables, increased by every change after a release; other versions are refused."""
SEAL = "seal"
"""The column with the hash of the other columns of a row, by which `limner verify` notices changes."""


def content_hash(table: Table, values: Mapping[str, Any]) -> str:
    """Return the hash of a row's content, which is the same before it is written and after it is read."""

    def plain(column: Column[Any]) -> Any:
        value = values.get(column.name)
        if value is None or isinstance(value, sa.ClauseElement):  # The latter is null.
            return None
        return float(value) if isinstance(column.type, Float) else value

    content = {column.name: plain(column) for column in table.c if column.name != SEAL}
    # Read back once, so that keys of objects are texts and tuples are lists.
    written = json.dumps(json.loads(json.dumps(content)), sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def content_columns(table: Table) -> list[Column[Any]]:
    """Return the columns of a table without the seal."""
    return [column for column in table.c if column.name != SEAL]


def _seal() -> Column[Any]:
    def seal(context: Any) -> str:
        return content_hash(context.current_column.table, context.get_current_parameters())

    return Column(SEAL, String(64), nullable=False, default=seal)


def _required(type: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, type, nullable=False) for name in names]


def _optional(type: Any, *names: str) -> list[Column[Any]]:
    return [Column(name, type) for name in names]


metadata = MetaData()


def _table(name: str, *parts: Any) -> Table:
    return Table(name, metadata, *parts)


def _record(name: str, *parts: Any) -> Table:
    """Return a table whose rows also have the time when they were made, and a seal."""
    return _table(name, *parts, Column("created", Float, nullable=False), _seal())


meta = _table(
    "meta",
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
# `files` are the definition and prompts of an exam of the user's own, as it was run last.
exams = _table(
    "exams",
    Column("name", String(200), primary_key=True),
    Column("kind", String(200), nullable=False),
    Column("files", JSON),
    Column("created", Float, nullable=False),
)
questions = _table(
    "questions",
    Column("hash", String(64), primary_key=True),
    Column("exam", ForeignKey("exams.name"), primary_key=True),
    Column("id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    *_required(JSON, "body", "subsets"),
    Column("reference", String(64)),
    Column("created", Float, nullable=False),
    Index("questions_by_id", "exam", "id"),
)
# A drawing is a slot (question, painter, strategy, options, seed) with its current contents.
drawings = _record(
    "drawings",
    Column("id", String(64), primary_key=True),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    *_required(Text, "question_id", "painter", "spec", "strategy"),
    Column("question_hash", String(64), nullable=False),
    *_required(JSON, "options", "calls"),
    Column("seed", Integer, nullable=False),
    *_required(String(20), "status", "origin"),
    Column("image", String(64)),
    *_optional(Integer, "width", "height"),
    *_optional(Text, "prompt_sent", "detail"),
    Column("notes", JSON),
    Column("fault", String(40)),
    Column("cost", Float),
    Index("drawings_by_painter", "exam", "painter"),
)
# The way a judge was asked: arguments, variant, options and template hash. `kind` is the kind of evaluator.
setups = _table(
    "setups",
    Column("id", String(64), primary_key=True),
    Column("judge", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("body", JSON, nullable=False),
    Column("created", Float, nullable=False),
)
markings = _record(
    "markings",
    Column("id", String(64), primary_key=True),
    Column("drawing", ForeignKey("drawings.id"), nullable=False),
    Column("question_hash", String(64), nullable=False),
    Column("image", String(64)),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    *_required(Integer, "repeat", "rounds"),
    *_required(String(20), "status", "origin"),
    Column("replies", JSON, nullable=False),
    Column("marks", JSON),
    Column("fault", String(40)),
    Column("detail", Text),
    *_optional(Float, "cost", "seconds"),
    Index("markings_by_drawing", "drawing"),
    Index("markings_by_setup", "setup"),
)
# A cache of the marks that a reading takes from a marking; `reader` and `made` show whether they are still valid.
read_marks = _table(
    "read_marks",
    Column("marking", String(64), primary_key=True),
    Column("reading", String(20), primary_key=True),
    Column("reader", String(64), nullable=False),
    Column("made", Float, nullable=False),
    Column("marks", Text, nullable=False),
)
# Measurements; `subject` is the hash of an image or, for imported values, the id of a drawing.
evidence = _record(
    "evidence",
    Column("subject", String(64), primary_key=True),
    Column("name", String(40), primary_key=True),
    Column("backend", String(200), primary_key=True),
    Column("value", JSON, nullable=False),
)
calls = _table(
    "calls",
    Column("key", String(64), primary_key=True),
    *_required(String(20), "kind", "status"),
    Column("target", Text, nullable=False),
    Column("request", JSON, nullable=False),
    *_optional(Text, "exam", "painter", "host", "detail"),
    *_optional(Integer, "pid", "accepted"),
    *_optional(Float, "process_start", "lease_until"),
    Column("token", String(32)),
    Column("progress", JSON),
    Column("tries", Integer, nullable=False),
    Column("fault", String(40)),
    *_required(Float, "created", "updated"),
    # The batch in which the call was last submitted.
    Column("batch", String(32)),
    Index("calls_by_status", "status"),
    Index("calls_by_target", "kind", "target"),
    Index("calls_by_batch", "batch"),
)
# Calls submitted to a service together. `id` is the tag for finding the batch in the service's list; the submitting
# process is recorded only until the service has accepted the batch.
batches = _table(
    "batches",
    Column("id", String(32), primary_key=True),
    *_required(Text, "service", "endpoint", "model"),
    Column("status", String(20), nullable=False),
    *_optional(Text, "remote", "file", "detail", "host"),
    Column("calls", Integer, nullable=False),
    *_optional(Float, "bound", "process_start", "lease_until"),
    Column("pid", Integer),
    *_required(Float, "created", "updated"),
    Index("batches_by_status", "status"),
)
attempts = _table(
    "attempts",
    Column("call", ForeignKey("calls.key"), primary_key=True),
    Column("n", Integer, primary_key=True),
    *_required(Float, "started", "seconds"),
    Column("result", JSON),
    Column("cost", Float),
    Column("fault", String(40)),
    Column("detail", Text),
    # The reason why the cost reported by the service is not credible; `cost` is then the maximum possible.
    Column("doubt", Text),
    _seal(),
)
# Budgets in dollars that processes share. `spent` and `reserved` are sums over the reservations of a purse.
purses = _table(
    "purses",
    Column("name", String(200), primary_key=True),
    *_required(Float, "budget", "spent", "reserved", "created", "updated"),
)
# Money reserved in a purse by one attempt of a process; `counted` is the actual cost, null while in flight.
reservations = _table(
    "reservations",
    Column("call", ForeignKey("calls.key"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("purse", ForeignKey("purses.name"), nullable=False),
    Column("token", String(32), nullable=False),
    *_required(Float, "bound", "process_start", "created"),
    Column("counted", Float),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Index("reservations_by_purse", "purse", "counted"),
)
# Human studies of a sample of drawings; `body` is the design, with everything that determines the sample.
studies = _record(
    "studies",
    Column("name", String(200), primary_key=True),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    Column("status", String(20), nullable=False),
    Column("body", JSON, nullable=False),
    Column("updated", Float, nullable=False),
)
# Items shown to raters: drawings of one question, and the probability of their being sampled.
study_items = _table(
    "study_items",
    Column("study", ForeignKey("studies.name"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("kind", String(20), nullable=False),
    *_required(Text, "question_id", "stratum"),
    Column("drawings", JSON, nullable=False),
    Column("probability", Float, nullable=False),
    _seal(),
)
# Raters invited to a study; only the hash of the token in their link is stored.
study_raters = _record(
    "study_raters",
    Column("study", ForeignKey("studies.name"), primary_key=True),
    Column("rater", String(200), primary_key=True),
    Column("token", String(64), nullable=False),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("body", JSON, nullable=False),
    Column("updated", Float, nullable=False),
    Index("study_raters_by_token", "token"),
)
# Answers to the fields of a study's form, from which markings, ratings and comparisons are made.
# `at` is the server's time: the latest answer counts. A null value means that the answer was withdrawn.
study_answers = _table(
    "study_answers",
    Column("study", String(200), primary_key=True),
    Column("rater", String(200), primary_key=True),
    Column("item", Integer, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("field", String(200), primary_key=True),
    Column("value", JSON(none_as_null=True)),
    Column("reason", Text),
    Column("seconds", Float),
    Column("at", Float, nullable=False),
    ForeignKeyConstraint(["study", "rater"], ["study_raters.study", "study_raters.rater"]),
)
# Ratings of a drawing beyond the exam's criteria: an overall rating, a scale, a rank, or the value of a metric.
ratings = _record(
    "ratings",
    Column("id", String(64), primary_key=True),
    *_optional(Text, "study", "reason"),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("drawing", ForeignKey("drawings.id"), nullable=False),
    Column("scale", String(200), nullable=False),
    Column("repeat", Integer, nullable=False),
    *_optional(Float, "value", "seconds"),
    Index("ratings_by_drawing", "drawing"),
    Index("ratings_by_setup", "setup"),
)
# Choices between two drawings of one question; `choice` is first, second or tie, or null if it was skipped.
comparisons = _record(
    "comparisons",
    Column("id", String(64), primary_key=True),
    *_optional(Text, "study", "reason"),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    Column("question_id", Text, nullable=False),
    Column("scale", String(200), nullable=False),
    Column("first", ForeignKey("drawings.id"), nullable=False),
    Column("second", ForeignKey("drawings.id"), nullable=False),
    *_optional(String(10), "shown_first", "choice"),
    Column("repeat", Integer, nullable=False),
    Column("seconds", Float),
    Index("comparisons_by_exam", "exam"),
    Index("comparisons_by_setup", "setup"),
)
# Metrics over all drawings of a painter, such as FID; `body` says how the value was computed.
metrics = _record(
    "metrics",
    Column("id", String(64), primary_key=True),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    Column("painter", Text, nullable=False),
    Column("strategy", Text),
    *_optional(Integer, "seed", "n"),
    Column("value", Float, nullable=False),
    Column("body", JSON, nullable=False),
    Index("metrics_by_exam", "exam"),
)
# Certificates: faults of known effect that a judge detected and missed.
certificates = _record(
    "certificates",
    Column("id", String(64), primary_key=True),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    Column("body", JSON, nullable=False),
    Index("certificates_by_setup", "setup"),
)
# Builds of exams, and the result of each recipe step for each item.
builds = _record(
    "builds",
    Column("name", String(200), primary_key=True),
    Column("recipe", String(200), nullable=False),
    Column("body", JSON, nullable=False),
    Column("updated", Float, nullable=False),
)
build_items = _record(
    "build_items",
    Column("build", ForeignKey("builds.name"), primary_key=True),
    Column("step", String(200), primary_key=True),
    Column("item", String(200), primary_key=True),
    Column("given", String(64), nullable=False),
    Column("status", String(20), nullable=False),
    Column("reason", Text),
    Column("body", JSON),
    Column("cost", Float),
)
# All changes by reviewers, each with the state of the item to which it applies; nothing is overwritten.
build_reviews = _record(
    "build_reviews",
    Column("id", String(64), primary_key=True),
    Column("build", ForeignKey("builds.name"), nullable=False),
    *_required(String(200), "item", "reviewer"),
    Column("step", String(100), nullable=False),
    Column("action", String(20), nullable=False),
    Column("base", String(64)),
    Column("body", JSON),
    Column("comment", Text),
    # The state that was judged, so that a later change of the item does not undo the review.
    Column("state", JSON),
    Index("build_reviews_by_item", "build", "item"),
)
LOCK = int.from_bytes(b"limner")
"""The key of the advisory lock held while a PostgreSQL store is created."""


def has_tables(connection: sa.Connection, url: str) -> bool:
    """Return whether the store's tables exist.

    Raises:
        StoreError: The tables have another version.
    """
    if not sa.inspect(connection).has_table(meta.name):
        return False
    version = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "version"))
    if version not in (None, str(VERSION)):
        raise StoreError(
            f"the store {url} has version {version}, and this Limner reads only version {VERSION}: "
            "use the Limner that made it, or name another --store"
        )
    return version is not None


def make_tables(readers: sa.Engine, writers: sa.Engine, url: str) -> None:
    """Create the tables of a new store; it is safe for several processes to do so at once.

    Raises:
        StoreError: The store has another version.
    """
    with readers.connect() as connection:
        if has_tables(connection, url):
            return
    with writers.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
        # Another process may have created the tables while this one waited.
        if not has_tables(connection, url):
            metadata.create_all(connection)
            connection.execute(meta.insert().values(key="version", value=str(VERSION)))
