"""A store with rows in every table, and its parts: what several machines would have had of it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from limner import api
from limner.calls import Budget, Calls, Fault, Request, Result
from limner.calls.budget import open_purse
from limner.store import Store, now
from limner.store.markings import PainterMetric, PairChoice, save_certificate, save_ratings
from limner.store.records import load_drawings, load_setups, save_evidence
from limner.store.schema import build_items, build_reviews, builds, metadata, purses
from limner.store.verify import TEMPORARY_PREFIX
from tests.study.made import answer, fill
from tests.study.made import make as make_study

JOINED = ("attempts", "reservations")
"""Tables whose rows go where their call goes."""
Dump = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


def make_whole(place: Path | str) -> Store:
    """A store with something of everything."""
    store = Store(place)
    fill(store, "genexam", questions=3, painters=2)
    make_study(store, raters=["anna", "ben"], changes={"raters": 2, "attention": 0, "repeats": 0.0})
    answer(store)
    drawings, setup = list(load_drawings(store, "genexam")), next(iter(load_setups(store)))
    for drawing in drawings[:5]:
        save_evidence(store, drawing.id, "aesthetics", "eye", {"score": 0.5}).result()
    save_certificate(store, setup, "genexam", {"kind": "certificate", "seed": 1, "seen": 3, "verdict": "clear"})
    metric = PainterMetric("genexam", drawings[0].painter, setup, 31.5, n=4, body={"reference": "mine"})
    save_ratings(store, [metric]).result()
    (first, second) = [row.id for row in drawings if row.question_id == drawings[0].question_id][:2]
    choice = PairChoice("genexam", drawings[0].question_id, first, second, setup, "looks", "first", "second")
    save_ratings(store, [choice]).result()
    at = now()

    def build(connection: sa.Connection) -> None:
        named = {"name": "mine", "recipe": "topics", "body": {"settings": {}}, "created": at, "updated": at}
        store.upsert(connection, builds, named)
        for n in range(4):
            item = {"build": "mine", "step": "draft", "item": f"i{n}", "given": "0" * 64, "created": at + n}
            made = {"status": ("done", "dropped", "failed", "done")[n], "reason": None, "body": {"n": n}, "cost": 0.25}
            store.upsert(connection, build_items, item | made)
            review = {"id": f"r{n}", "build": "mine", "item": f"i{n}", "step": "review", "reviewer": "anna",
                      "action": "keep"}  # fmt: skip
            rest = {"base": None, "body": None, "comment": "good", "created": at + n}
            store.upsert(connection, build_reviews, review | rest)

    store.write(build)
    spend(store, range(6))
    return store


def spend(store: Store, numbers: Any, reply: str = "reply") -> None:
    """Make calls from a purse: some cost more than one attempt, some fail."""
    open_purse(store, "week", 10.0)

    async def run() -> None:
        journal = Calls(store, budget=Budget(purse="week"))
        journal._wait = lambda _tries: 0.0
        for n in numbers:
            tried = [0]

            async def perform(_attempt: object, n: int = n, tried: list[int] = tried) -> Result:
                tried[0] += 1
                if n % 3 == 1 and tried[0] == 1:
                    raise Fault("server", "once more", cost=0.125)
                if n % 3 == 2:
                    raise Fault("refusal", "no", cost=0.25)
                return Result({"text": f"{reply} {n}"}, 0.5)

            try:
                await journal.do(Request("chat", "service/model", {"n": n}), perform, bound=1.0)
            except Fault:
                tried.append(0)

    asyncio.run(run())


def dump(store: Store) -> Dump:
    """All rows of all tables by their keys; purses with sums that are rounded."""
    tables: Dump = {}
    with store.reading() as connection:
        for table in metadata.sorted_tables:
            names = [column.name for column in table.primary_key]
            rows = [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            tables[table.name] = {tuple(row[name] for name in names): row for row in rows}
    for row in tables["purses"].values():
        row |= {"spent": round(row["spent"], 9), "reserved": round(row["reserved"], 9)}
    return tables


def images(store: Store) -> set[str]:
    """The names of its images; what a kill left half written is none, and `limner verify` tells of it."""
    return {name for name, _ in store.blobs.names() if TEMPORARY_PREFIX not in name}


def split(whole: Store, count: int, chance: random.Random, folder: Path) -> list[Store]:
    """Stores that together have what `whole` has; every row is in one of them at least, with all that it names."""
    rows = dump(whole)
    homes: dict[str, dict[tuple[Any, ...], set[int]]] = {}
    for table in metadata.sorted_tables:
        homes[table.name] = {
            key: set(chance.sample(range(count), chance.choice((1, 1, 2)))) for key in rows[table.name]
        }
    for table in reversed(metadata.sorted_tables):
        for key, row in rows[table.name].items():
            mine = homes[table.name][key]
            if table.name in JOINED:
                mine.clear()
                mine |= homes["calls"][(row["call"],)]
            for constraint in table.foreign_key_constraints:
                parent = constraint.referred_table
                wanted = {element.column.name: row[element.parent.name] for element in constraint.elements}
                for there, home in homes[parent.name].items():
                    if all(rows[parent.name][there][name] == value for name, value in wanted.items()):
                        home |= mine
    for name in ("exams", "questions"):  # A run keeps the whole exam, whatever it draws of it.
        for home in homes[name].values():
            home |= set(range(count))
    for name in JOINED:  # Calls may have come to more places since.
        for key, row in rows[name].items():
            homes[name][key] = homes["calls"][(row["call"],)]
    for row in rows["reservations"].values():
        homes["purses"][(row["purse"],)] |= homes["calls"][(row["call"],)]
    made = []
    for n in range(count):
        store = Store(folder / f"part{n}")
        parts = {name: [rows[name][key] for key, home in of.items() if n in home] for name, of in homes.items()}

        def write(connection: sa.Connection, parts: dict[str, list[dict[str, Any]]] = parts) -> None:
            for table in metadata.sorted_tables:
                if table.name != "meta" and parts[table.name]:
                    connection.execute(table.insert(), parts[table.name])
            for purse in parts["purses"]:
                counted = sum(row["counted"] for row in parts["reservations"] if row["purse"] == purse["name"])
                connection.execute(purses.update().where(purses.c.name == purse["name"]).values(spent=counted))

        store.write(write)
        for name in images(whole):
            sha256 = name.rpartition("/")[2].partition(".")[0]
            if chance.random() < 0.7 or n == count - 1:
                store.blobs.put(whole.blobs.get(sha256))
        made.append(store)
    return made


def standings(store: Store) -> list[Any]:
    """The scores of everyone, as they are shown."""
    return [standing.to_json() for standing in api.scores("genexam", store=store)]
