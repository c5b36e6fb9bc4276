"""The tables. Times are seconds since 1970; JSON columns hold what is never searched in."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

VERSION = 4
"""Goes up with every change to a table; `migrations` leads older stores there."""
metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

exams = Table(
    "exams",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("kind", String(200), nullable=False),
    Column("created", Float, nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("exam", ForeignKey("exams.name"), primary_key=True),
    Column("id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("body", JSON, nullable=False),
    Column("subsets", JSON, nullable=False),
    Column("reference", String(64)),
    Column("created", Float, nullable=False),
    Index("questions_by_id", "exam", "id"),
)

# A drawing is a slot (question, painter, strategy, options, seed) and what stands in it now.
drawings = Table(
    "drawings",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("exam", ForeignKey("exams.name"), nullable=False),
    Column("question_id", Text, nullable=False),
    Column("question_hash", String(64), nullable=False),
    Column("painter", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    Column("image", String(64)),
    Column("width", Integer),
    Column("height", Integer),
    Column("prompt_sent", Text),
    Column("notes", JSON),
    Column("fault", String(40)),
    Column("detail", Text),
    Column("calls", JSON, nullable=False),
    Column("cost", Float),
    Column("origin", String(20), nullable=False),
    Column("created", Float, nullable=False),
    Index("drawings_by_painter", "exam", "painter"),
)

# How a judge was asked: judge, arguments, variant, options, template hash. `kind` is the sort of evaluator.
setups = Table(
    "setups",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("judge", Text, nullable=False),
    Column("body", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Column("kind", String(20), nullable=False, server_default="judge"),
)

markings = Table(
    "markings",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("drawing", ForeignKey("drawings.id"), nullable=False),
    Column("question_hash", String(64), nullable=False),
    Column("image", String(64)),
    Column("setup", ForeignKey("setups.id"), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("replies", JSON, nullable=False),
    Column("marks", JSON),
    Column("fault", String(40)),
    Column("detail", Text),
    Column("cost", Float),
    Column("seconds", Float),
    Column("origin", String(20), nullable=False),
    Column("created", Float, nullable=False),
    Index("markings_by_drawing", "drawing"),
    Index("markings_by_setup", "setup"),
)

# What was measured on an image (by its hash) or brought in with a drawing (by its id).
evidence = Table(
    "evidence",
    metadata,
    Column("subject", String(64), primary_key=True),
    Column("name", String(40), primary_key=True),
    Column("backend", String(200), primary_key=True),
    Column("value", JSON, nullable=False),
    Column("created", Float, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("target", Text, nullable=False),
    Column("request", JSON, nullable=False),
    Column("exam", Text),
    Column("painter", Text),
    Column("status", String(20), nullable=False),
    Column("host", Text),
    Column("pid", Integer),
    Column("process_start", Float),
    Column("token", String(32)),
    Column("lease_until", Float),
    Column("progress", JSON),
    Column("tries", Integer, nullable=False),
    Column("accepted", Integer),
    Column("fault", String(40)),
    Column("detail", Text),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Index("calls_by_status", "status"),
    Index("calls_by_target", "kind", "target"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("call", ForeignKey("calls.key"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("started", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("result", JSON),
    Column("cost", Float),
    Column("fault", String(40)),
    Column("detail", Text),
    # Why what the service says of the cost is not credible: `cost` is then the most it can have been.
    Column("doubt", Text),
)

# A limit in dollars that processes share. `spent` and `reserved` are the sums over its reservations.
purses = Table(
    "purses",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("budget", Float, nullable=False),
    Column("spent", Float, nullable=False),
    Column("reserved", Float, nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)

# What one attempt set aside in a purse, and by whom; `counted` is what it came to, null while it is in flight.
reservations = Table(
    "reservations",
    metadata,
    Column("call", ForeignKey("calls.key"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("purse", ForeignKey("purses.name"), nullable=False),
    Column("token", String(32), nullable=False),
    Column("bound", Float, nullable=False),
    Column("counted", Float),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_start", Float, nullable=False),
    Column("created", Float, nullable=False),
    Index("reservations_by_purse", "purse", "counted"),
)
