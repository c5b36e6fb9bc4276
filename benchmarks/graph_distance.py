"""How fast is the exact graph distance against networkx? One run on random graphs of the paper's sizes.

    python -m benchmarks.graph_distance [--count 300] [--seed 1]

Entities and dependencies are drawn around the means of MMMG's Table 3, level by level; each item is shown or not by
chance. `exact` goes from answers to fidelity with the endpoints resolved once per question, as scoring does; `release`
builds both graphs by the released scorer's rules and takes the first value in closed form; `networkx` takes that first
value from its own search, on graphs built beforehand; `networkx full` searches to the end, on the smallest graphs.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx

from benchmarks.table import Table, told
from limner.exams.mmmg import graph
from limner.exams.mmmg.data import LEVELS

MEANS = dict(
    zip(LEVELS, ((5.91, 4.09), (6.44, 5.26), (7.18, 6.20), (7.38, 6.64), (8.51, 7.97), (8.53, 7.88)), strict=True)
)
"""Level -> mean numbers of entities and dependencies (Table 3)."""
RELATIONS = ("Causes", "Contains", "Requires", "Defines", "Entails", "TemporalOrder")
SMALL = 4

Case = tuple[dict[str, bool], dict[str, bool]]


def cases(count: int, seed: int) -> list[Case]:
    """Random graphs with random answers, as many for each level."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        entities, dependencies = MEANS[LEVELS[number % len(LEVELS)]]
        names = [f"entity {chr(97 + n)}" for n in range(max(2, round(chance.gauss(entities, 1.5))))]
        texts = []
        for _ in range(max(1, round(chance.gauss(dependencies, 1.5)))):
            first, second = chance.sample(names, 2)
            texts.append(f"{chance.choice(RELATIONS)}({first}, {second})")
        skill = chance.random()
        found.append(
            tuple({item: chance.random() < skill for item in items} for items in (names, dict.fromkeys(texts)))
        )
    return found  # type: ignore[return-value]


def timed(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Milliseconds per item."""
    start = time.perf_counter()
    for item in items:
        work(item)
    return (time.perf_counter() - start) * 1000 / len(items)


def measure(count: int, seed: int = 1) -> Table:
    """Every way on the same graphs."""
    found = cases(count, seed)
    whole = [(dict.fromkeys(e, True), dict.fromkeys(d, True)) for e, d in found]
    references = [graph.resolve_graph(tuple(e), tuple(d)) for e, d in found]
    answers = [(r, list(e.values()), list(d.values())) for r, (e, d) in zip(references, found, strict=True)]
    built = [(graph.build(*all_), graph.build(*case)) for all_, case in zip(whole, found, strict=True)]
    drawn = [(graph.to_networkx(a), graph.to_networkx(b)) for a, b in built]
    small = [pair for pair, (a, _) in zip(drawn, built, strict=True) if len(a.nodes) <= SMALL]
    ms = {
        "exact": timed(lambda case: graph.exact_similarity(*case), answers),
        "release": timed(
            lambda both: graph.similarity(graph.build(*both[0]), graph.build(*both[1])),
            list(zip(whole, found, strict=True)),
        ),
        "networkx": timed(lambda pair: next(nx.optimize_graph_edit_distance(*pair)), drawn),
    }
    if small:
        ms["networkx full"] = timed(lambda pair: nx.graph_edit_distance(*pair), small)
    sizes = [a.size for a, _ in built]
    over = [graph.distance(a, b) - (a.size - b.size) for a, b in built]
    share = sum(map(bool, over)) / len(over)
    return Table(
        ("way", "ms a graph", "times exact"),
        tuple((name, took, took / ms["exact"]) for name, took in ms.items()),
        {"exact ms": ms["exact"], "networkx ms": ms["networkx"]},
        f"{len(found)} graphs of {min(sizes)} to {max(sizes)} nodes and edges, {len(small)} for the full search. "
        f"The first value overshoots in {share:.0%} of the graphs, by {max(over)} edits at most.",
    )


def rows(quick: bool = False) -> Table:
    """As many graphs as take a few seconds."""
    return measure(30 if quick else 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(told(measure(given.count, given.seed)))


if __name__ == "__main__":
    main()
