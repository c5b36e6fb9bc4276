"""How right the rules of the recipe of knowledge graphs are, on the half of the material that they were not set on.

python -m benchmarks.graph rules                        graphs and traces with planted faults
python -m benchmarks.graph pictures --references FOLDER  cropping and text, on damaged pictures
python -m benchmarks.graph concepts                      sentence embeddings and DBSCAN
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from PIL import Image
from tests.build.damage import png
from tests.build.test_points import RULES, cases
from tests.needs import SHARED

from limner import exams
from limner.build.embedding import LETTERS, MINILM, embed
from limner.build.picture_rules import cut_edges, text_labels
from limner.calls import Calls
from limner.core.images import decode
from limner.evidence.probe import OcrProbe
from limner.exams.mmmg.draft import RELATIONS, check_graph
from limner.exams.mmmg.recipe.steps import ConceptsSettings, dbscan
from limner.exams.mmmg.recipe.traces import SENTENCE, trace_faults
from limner.painters.controls.images import erase
from limner.store import Store

Told = list[tuple[str, str]]
VERBS = {"Contains": "contains", "Causes": "causes", "Requires": "needs", "TemporalOrder": "comes before",
         "Defines": "defines", "Entails": "implies"}  # fmt: skip
SHOWN: dict[str, str] = {"tune": "rules were set on these", "held": "rules were not set on these"}


def graphs() -> list[tuple[str, Told, Told]]:
    """The sample's graphs and those of the paper's worked examples."""
    found = []
    for question in exams.read(exams.resolve("sample/mmmg")).questions:
        told = json.loads(question.rubric.annotation)
        elements = list(zip(question.rubric.elements, told["Element Explanation"], strict=True))
        found.append(
            (
                question.id,
                elements,
                list(zip(question.rubric.dependencies, told["Dependency Explanation"], strict=True)),
            )
        )
    file = SHARED / "conformance" / "mmmg_worked_examples.jsonl"
    if file.is_file():
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for row in {row["figure"]: row for row in rows}.values():
            both = ([(name, "why") for name in row[part]] for part in ("elements", "dependencies"))
            found.append((f"figure {row['figure']}", *both))  # type: ignore[arg-type]
    return found


def _other(text: str, chance: random.Random) -> str:
    head, _, rest = text.partition("(")
    return f"{chance.choice(['Produces', 'IsA', 'Leads To', head[:-1] + 'x'])}({rest}"


def _end(text: str, new: Callable[[str], str], chance: random.Random) -> str:
    head, _, inner = text.partition("(")
    ends = inner.removesuffix(")").split(", ")
    n = chance.randrange(len(ends))
    ends[n] = new(ends[n])
    return f"{head}({', '.join(ends)})"


def faulty(elements: Told, dependencies: Told, chance: random.Random) -> Iterator[tuple[str, Told, Told]]:
    """The graph with one fault of each kind."""
    n = chance.randrange(len(dependencies))
    text, why = dependencies[n]

    def swapped(new: str) -> Told:
        return [*dependencies[:n], (new, why), *dependencies[n + 1 :]]

    name = chance.choice(elements)[0]
    yield "none of the six relations", elements, swapped(_other(text, chance))
    yield "an entity that is not declared", elements, swapped(_end(text, lambda end: f"{end} of old", chance))
    yield "another modifier than change()", elements, swapped(_end(text, lambda end: f"increase({end})", chance))
    yield "not written as a relation", elements, swapped(text.replace("(", " ").replace(")", ""))
    first = text.partition("(")[2].partition(",")[0]
    yield "an entity joined to itself", elements, swapped(f"{text.partition('(')[0]}({first}, {first})")
    yield "an entity in no dependency", [*elements, ("lonely thing", "why")], dependencies
    yield "an entity taken out", [one for one in elements if one[0] != name], dependencies
    yield "an entity twice", [*elements, (name.upper(), "why")], dependencies
    yield "a dependency twice", elements, [*dependencies, dependencies[n]]
    yield "an explanation missing", elements, [*dependencies[:n], (text, ""), *dependencies[n + 1 :]]
    head, _, inner = text.partition("(")
    other = chance.choice([one for one in RELATIONS if one.lower() != head.lower()])
    yield "(meaning) another of the six", elements, swapped(f"{other}({inner}")
    ends = text.partition("(")[2].removesuffix(")").split(", ")
    yield "(meaning) the other direction", elements, swapped(f"{text.partition('(')[0]}({', '.join(reversed(ends))})")


def rules() -> None:
    """Planted faults in graphs and traces."""
    every = graphs()
    for part, some in (("tune", every[::2]), ("held", every[1::2])):
        found, there = Counter[str](), Counter[str]()
        false = sum(bool(check_graph(elements, dependencies, "d")[1]) for _, elements, dependencies in some)
        for id, elements, dependencies in some:
            for seed in range(5):
                for kind, bad, links in faulty(elements, dependencies, random.Random(f"{id}/{seed}")):
                    there[kind] += 1
                    found[kind] += bool(check_graph(bad, links, "d")[1])
        print(f"graphs, {SHOWN[part]}: {len(some)}, refused wrongly {false}")
        for kind, times in there.items():
            print(f"  {kind}: {found[kind]} of {times}")
    told = list(cases().items())
    for part, chosen in (("tune", told[:4]), ("held", told[4:])):
        _traces(part, dict(chosen))


def _traces(part: str, some: dict[str, tuple[str, str, list[str], list[list[str]]]]) -> None:
    found, there = Counter[str](), Counter[str]()
    false = Counter[str]()
    for trace, final, names, links in some.values():
        false["entities"] += sum(one.kind == "entity" for one in trace_faults(trace, final, names, links, RULES))
        false["relations"] += sum(one.kind == "relation" for one in trace_faults(trace, final, names, links, RULES))
        false["traces"] += bool(trace_faults(trace, final, names, links, RULES))
        there["(all) entities"] += len(names)
        there["(all) relations"] += len(links)
        for name in names:
            gone = re.sub(re.escape(name), "that thing", trace, flags=re.IGNORECASE)
            there["an entity not named"] += 1
            kinds = [one for one in trace_faults(gone, final, names, links, RULES) if repr(name) in one.detail]
            found["an entity not named"] += bool(kinds)
        for n, (relation, first, second) in enumerate(links):
            wrong = random.Random(n).choice([verb for name, verb in VERBS.items() if name != relation])
            plants = {
                "a relation not named": f"I also draw the {first}. Near it is room for the {second}.",
                "a relation named as another": f"The {first} {wrong} the {second}.",
            }
            for kind, said in plants.items():
                there[kind] += 1
                faults = trace_faults(f"{_without(trace, first, second)} {said}", final, names, links, RULES)
                meant = f"{relation}({first}, {second})"
                found[kind] += any(one.kind == "relation" and meant in one.detail for one in faults)
        shapes = {"a list": f"- {trace}", "a heading": f"## Thoughts\n{trace}", "notation": f"{trace} Causes(a, b)."}
        for kind, bad in shapes.items():
            there[f"no prose: {kind}"] += 1
            found[f"no prose: {kind}"] += any(
                one.kind == "prose" for one in trace_faults(bad, final, names, links, RULES)
            )
    wrongly = f"{false['entities']} of {there['(all) entities']} entities, {false['relations']} of "
    wrongly += f"{there['(all) relations']} relations"
    print(f"traces, {SHOWN[part]}: {len(some)}; refused wrongly {false['traces']}: {wrongly}")
    for kind, times in there.items():
        if not kind.startswith("("):
            print(f"  {kind}: {found[kind]} of {times}")


def _without(trace: str, first: str, second: str) -> str:
    """The trace with all sentences gone that name either entity."""
    low = (first.casefold(), second.casefold())
    return " ".join(one for one in SENTENCE.split(trace) if not any(name in one.casefold() for name in low))


def pictures(folder: Path, many: int) -> None:
    """Cropped pictures, and pictures whose text was taken away."""
    files = sorted(folder.rglob("*.png"))
    random.Random(3).shuffle(files)
    for part, some in (("tune", files[:60]), ("held", files[60:])):
        images = {file.stem: decode(file.read_bytes()).convert("RGB") for file in some}
        least = 2  # The rule of the recipe `graph`.
        whole = sum(max(cut_edges(image)) >= least for image in images.values())
        cut = sum(max(cut_edges(_cropped(image, random.Random(name)))) >= least for name, image in images.items())
        print(f"cropping, {SHOWN[part]}: found {cut} of {len(images)}, taken out wrongly {whole} of {len(images)}")
    asyncio.run(_text({file.stem: decode(file.read_bytes()).convert("RGB") for file in files[60 : 60 + many]}))


def _cropped(image: Image.Image, chance: random.Random) -> Image.Image:
    share, edge = chance.uniform(0.12, 0.3), chance.randrange(4)
    box = [0, 0, image.width, image.height]
    side = image.width if edge % 2 == 0 else image.height
    box[edge] = round(side * share) if edge < 2 else round(side * (1 - share))
    return image.crop((box[0], box[1], box[2], box[3]))


async def _text(images: dict[str, Image.Image]) -> None:
    least = 2  # The rule of the recipe `graph`.
    false = found = 0
    with tempfile.TemporaryDirectory() as place, Store(place) as store:
        async with Calls(store) as calls:
            for image in images.values():
                image.thumbnail((900, 900))
                lines = (await OcrProbe().measure(png(image), calls)).lines
                false += len(text_labels([line.text for line in lines])) < least
                bare = erase(image, lines)
                left = (await OcrProbe().measure(png(bare), calls)).lines
                found += len(text_labels([line.text for line in left])) < least
    print(f"explanatory text: found {found} of {len(images)} without text, taken out wrongly {false} of {len(images)}")


FORMS = ("{c}", "the {l}", "{l} explained", "structure of {l}", "{l} process", "basics of {l}", "overview of the {l}",
         "how {l} works")  # fmt: skip


def concepts() -> None:
    """Names of one thing in several wordings: how many pairs are put together rightly."""
    with (Path(exams.__file__).parent / "genexam/paper/taxonomy.csv").open(encoding="utf-8") as stream:
        rows = [[row[f"level{n}"] for n in range(1, 5)] for row in csv.DictReader(stream)]
    names = list(dict.fromkeys(row[3] for row in rows if row[3]))
    random.Random(1).shuffle(names)
    how = ConceptsSettings()
    for part, some in (("tune", names[: len(names) // 2]), ("held", names[len(names) // 2 :])):
        chance = random.Random(2)
        told = [(name, form.format(c=name, l=name.lower())) for name in some for form in chance.sample(FORMS, 3)]
        for model in (MINILM, LETTERS):
            began = time.perf_counter()
            labels_ = dbscan(embed([text for _, text in told], model), how.eps, how.min_samples)
            took = time.perf_counter() - began
            pairs = Counter((one[0][0] == other[0][0], one[1] == other[1])
                            for one, other in combinations(zip(told, labels_, strict=True), 2))  # fmt: skip
            joined, right = pairs[True, True] + pairs[False, True], pairs[True, True] + pairs[True, False]
            print(f"concepts, {SHOWN[part]}, {model}: {len(some)} names, {len(told)} wordings, "
                  f"{len(set(labels_))} clusters; precision {pairs[True, True] / max(1, joined):.3f}, "
                  f"recall {pairs[True, True] / right:.3f}; {took:.1f} s")  # fmt: skip


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rules", "pictures", "concepts"])
    parser.add_argument("--references", type=Path)
    parser.add_argument("--ocr", type=int, default=20, help="so many pictures for the filter that reads text")
    given: Any = parser.parse_args()
    if given.what == "rules":
        rules()
    elif given.what == "concepts":
        concepts()
    else:
        pictures(given.references, given.ocr)


if __name__ == "__main__":
    main()
