"""Makes the pairs of `tests.compat.ids` at the version they fence: from a store's runs, from asking, and made up."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice, product
from pathlib import Path
from typing import Any

from limner.exams import kind, kinds
from limner.store import Store
from tests.compat.ids import COMPUTED, COUNT, MARKING, SLOT, Json, asked


def write(store: Path, folder: Path) -> None:
    """Keep as many pairs of each as are wanted: a half at most from the runs, the rest made up."""
    folder.mkdir()
    chance = random.Random(1)
    with closing(sqlite3.connect(store / "limner.db")) as database:
        for name, compute in COMPUTED.items():
            rows: list[Json] = []
            for given, id in _stored(database, name):
                assert compute(given) == id, (name, given)
                rows.append({"given": given, "id": id})
            if len(rows) > COUNT // 2:
                rows = chance.sample(rows, COUNT // 2)
            if name == "setup":
                with Store(store) as opened:
                    for how in islice(_ways(), COUNT - len(rows)):
                        given = asked(how, opened)
                        rows.append({"asked": how, "given": given, "id": compute(given)})
            while len(rows) < COUNT:
                given = _MADE[name](chance)
                rows.append({"given": given, "id": compute(given)})
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(text, "utf-8")


def _stored(database: sqlite3.Connection, name: str) -> Iterator[tuple[Json, str]]:
    """What went into every key and id of a store."""
    if name == "request":
        for key, kind_, target, request in database.execute("SELECT key, kind, target, request FROM calls"):
            yield {"kind": kind_, "target": target, "repeat": 0, "round": 0, **json.loads(request)}, key
    elif name == "setup":
        for id, body in database.execute("SELECT id, body FROM setups"):
            yield json.loads(body), id
    else:
        table, names = ("drawings", SLOT) if name == "slot" else ("markings", MARKING)
        for id, *values in database.execute(f"SELECT id, {', '.join(names)} FROM {table}"):
            given = dict(zip(names, values, strict=True))
            yield given | ({"options": json.loads(given["options"])} if "options" in given else {}), id


def _ways() -> Iterator[Json]:
    """Ways to ask a judge, of every exam: its presets, variants and options, with arguments of several kinds."""
    arguments: list[Json] = [
        {}, {"reasoning_effort": "low"}, {"reasoning_effort": "high", "verbosity": "medium"}, {"temperature": 0},
        {"temperature": 0.5, "max_completion_tokens": 4096}, {"seed": 7, "top_p": 1.0},
    ]  # fmt: skip
    judges = ("openai/gpt-5-2025-08-07", "openrouter/google/gemini-3-pro", "local/qwen3-vl")
    ways: list[list[Json]] = []
    for name in kinds():
        found, exam = kind(name), f"sample/{name}"
        base: Json = {"exam": exam, "args": {}, "variant": None, "options": {}, "preset": None}
        own: list[Json] = [{**base, "judge": judges[0], "preset": preset} for preset in ("paper", "release")
                           if found.presets and f"[{preset}]" in found.presets.read_text("utf-8")]  # fmt: skip
        options = [dict(zip(found.protocol.options, values, strict=True))
                   for values in product(*found.protocol.options.values())]  # fmt: skip
        asking = product(found.protocol.variants, options, zip(arguments, judges * 2, strict=True))
        own += [{**base, "judge": judge, "args": args, "variant": variant, "options": chosen}
                for variant, chosen, (args, judge) in asking]  # fmt: skip
        ways.append(own)
    while any(ways):
        yield from (own.pop(0) for own in ways if own)


_WORDS = (
    "Draw a cell",
    "Zeichne «Blüte»",
    "图：水的循环",
    'line\nbreak\tand "quotes"',
    "1.0",
    "",
    "\U0001f600 \u2028",
    "a" * 300,
)
_NAMES = ("openai/gpt-image-1", "mine", "control/reference", "bfl/flux-2-pro", "diffusers/a/b", "Übung=x", "model-a")
_STRATEGIES = ("direct", "best-of-2", "rewrite+best-of-4", "svg", "edit", "reason", "structure+recaption")
_VALUES: tuple[Any, ...] = (
    0,
    1,
    1.0,
    -3,
    0.7,
    1e-7,
    1e21,
    2**53 + 1,
    True,
    False,
    None,
    "high",
    "1024x1024",
    [1, 2.0],
    {"b": 1.5, "a": []},
)


def _hash(chance: random.Random) -> str:
    return f"{chance.getrandbits(256):064x}"


def _options(chance: random.Random) -> Json:
    names = ("size", "quality", "steps", "guidance", "seed", "style", "ö")
    return {name: chance.choice(_VALUES) for name in chance.sample(names, chance.randrange(5))}


def _made_request(chance: random.Random) -> Json:
    picture = {"type": "image", "sha256": _hash(chance)}
    said = [{"role": chance.choice(("system", "user", "assistant")), "content": [chance.choice(_WORDS), picture]}]
    bodies: list[Json] = [
        {"messages": said * chance.randrange(1, 3), "args": _options(chance), "schema": {"type": "object"}},
        {"prompt": chance.choice(_WORDS), "seed": chance.randrange(9), "options": _options(chance)},
        {"image": _hash(chance)},
        _options(chance),
    ]  # fmt: skip
    how = {"kind": chance.choice(("chat", "paint", "probe", "import")), "target": chance.choice(_NAMES)}
    return {
        **how,
        "body": chance.choice(bodies),
        "repeat": chance.choice((0, 0, 1, 4)),
        "round": chance.choice((0, 0, 1, 2)),
    }


def _made_slot(chance: random.Random) -> Json:
    exam = chance.choice(("genexam", "sample/mmmg", "my exam", "考试"))
    who = {"painter": chance.choice(_NAMES), "strategy": chance.choice(_STRATEGIES), "options": _options(chance)}
    return {"exam": exam, "question_hash": _hash(chance), **who, "seed": chance.choice((0, 1, 7, 2**31, 2**63))}


def _made_marking(chance: random.Random) -> Json:
    image = chance.choice((_hash(chance), _hash(chance), None))
    of = {"drawing": _hash(chance), "question_hash": _hash(chance), "image": image}
    return {**of, "setup": _hash(chance), "repeat": chance.choice((0, 1, 2, 9))}


def _made_setup(chance: random.Random) -> Json:
    how = {"variant": chance.choice(("paper", "careful", "free-text")), "options": _options(chance)}
    return {"judge": chance.choice(_NAMES), "args": _options(chance), **how, "templates": _hash(chance)}


_MADE: dict[str, Callable[[random.Random], Json]] = {
    "request": _made_request, "slot": _made_slot, "marking": _made_marking, "setup": _made_setup,
}  # fmt: skip
