"""The datasheet and the card of an exam that was made: counts and figures, as papers show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from .. import exams
from ..core.exam import Exam
from .base import BuildItem
from .engine import Builder
from .flow import StepCount

MOST = 40
"""So many values of a tag are listed."""


def datasheet(
    builder: Builder,
    exam: Exam[Any],
    counts: Sequence[StepCount],
    items: Sequence[BuildItem],
    rows: Sequence[Mapping[str, str]],
    facts: Mapping[str, Any],
) -> str:
    """What is in the exam, where it comes from and how it was made, in Markdown."""
    recipe, pictured = builder.recipe, has_pictures(items)
    lines = [f"# Datasheet of {facts['name']}", ""]
    lines += [
        f"Version {facts['version']}. Questions and points: {facts['licence']}. Canary GUID {facts['canary']}.",
        "",
    ]
    lines += ["## What is in it", ""]
    kind = exams.kind(exam.kind)
    protocol = kind.protocol
    own = {name: [value(question) for question in exam.questions] for name, value in kind.statistics.items()}
    words = [len(question.prompt.split()) for question in exam.questions]
    criteria = [len(protocol.criteria(question)) for question in exam.questions]
    lines += _table(["", "number"], [
        ["questions", f"{len(exam.questions):,}"],
        *([f"questions in the subset {name}", f"{len(ids):,}"] for name, ids in sorted(exam.subsets.items())),
        ["words in a prompt", f"{min(words)}-{max(words)}, mean {fmean(words):.1f}"],
        ["criteria of a question", f"{min(criteria)}-{max(criteria)}, mean {fmean(criteria):.2f}"],
        *([f"{name} of a question", f"{min(n):g}-{max(n):g}, mean {fmean(n):.2f}"] for name, n in own.items()),
        *([["reference images that may not be passed on", f"{facts['withheld']:,}"]] if pictured else []),
    ])  # fmt: skip
    for tag in dict.fromkeys((*protocol.breakdowns, *sorted({tag for q in exam.questions for tag in q.tags}))):
        values = Counter(question.tags[tag] for question in exam.questions if tag in question.tags)
        if 1 < len(values) <= MOST:
            lines += ["", f"### {tag}", ""]
            lines += _table([tag, "questions"], [[value, str(n)] for value, n in values.most_common()])
    lines += ["", "## Where it comes from", ""]
    if pictured:
        licences = Counter(row["licence"] for row in rows)
        lines += _table(["licence of the picture", "questions"], [[name, str(n)] for name, n in licences.most_common()])
        lines += ["", "`provenance.csv` has the licence and the source of every picture."]
    else:
        lines.append("It has no pictures: prompts and criteria were written, not taken from anywhere.")
    if facts["withheld"]:
        lines.append(
            "Pictures that may not be passed on are not in the folder: `recover.csv` says where they are found."
        )
    lines += ["", "## How it was made", "", f"By the recipe {recipe.name}: {recipe.title}.", ""]
    miles = {mile.after: mile.items for mile in reversed(recipe.paper)}
    lines += _table(
        ["step", "in", "out", "the paper's", "taken out"],
        [
            [count.place, f"{count.arrived:,}", f"{count.kept + count.made:,}",
             f"{miles[count.place]:,}" if count.place in miles else "",
             ", ".join(f"{n:,} {why}" for why, n in count.dropped.most_common())]
            for count in counts
        ],
    )  # fmt: skip
    roles = {role: word for role, word in builder.build.body.get("roles", {}).items() if "." not in role}
    lines += ["", *(f"- {role}: {word}" for role, word in sorted(roles.items()))]
    lines += ["", "Settings other than the recipe's:", ""]
    changed = builder.build.body.get("settings", {})
    # Where pictures and papers lie on a machine is nobody else's business.
    private = {place.name for place in recipe.places if place.step.name in ("images", "paper-sources")}
    told = [
        f"- {step}.{name} = {value}" for step, given in sorted(changed.items()) for name, value in sorted(given.items())
        if step not in private
    ]  # fmt: skip
    lines += told or ["- none"]
    reviewed = Counter(len(item.body.get("reviewers") or ()) for item in items)
    lines += ["", "## Review", ""]
    lines += _table(["reviewers who agreed", "items"], [[str(n), str(many)] for n, many in sorted(reviewed.items())])
    if reviewed[0]:
        lines += ["", f"**{reviewed[0]:,} items were not reviewed by anybody.**"]
    lines += ["", *_practices(exam, items, rows, facts)]
    return "\n".join(lines) + "\n"


def _practices(
    exam: Exam[Any], items: Sequence[BuildItem], rows: Sequence[Mapping[str, str]], facts: Mapping[str, Any]
) -> list[str]:
    """What good practice asks of a benchmark, and whether it is there."""
    pictures = {
        "every question has a reference image": all(q.reference is not None for q in exam.questions),
        "every picture's licence is known": all(row["licence"] not in ("", "unknown") for row in rows),
        "every picture's source text was kept": all(item.body.get("source_text") for item in items),
    }
    held = (pictures if has_pictures(items) else {}) | {
        "every item was reviewed by two people or more": all(len(i.body.get("reviewers") or ()) > 1 for i in items),
        **_checked(items),
        "there is a small subset": bool(exam.subsets),
        "a canary marks the data": bool(facts["canary"]),
    }
    return ["## Practices", "", *(f"- [{'x' if there else ' '}] {what}" for what, there in held.items())]


def has_pictures(items: Sequence[BuildItem]) -> bool:
    """Whether items have a picture each; prompts that were written have none."""
    return any(item.body.get("image") for item in items)


def _checked(items: Sequence[BuildItem]) -> dict[str, bool]:
    denied = [item.body["denied"] for item in items if "denied" in item.body]
    held = len(denied) == len(items) and not any(denied)
    return {"every reference passes its own points under another model": held} if has_pictures(items) else {}


def card(builder: Builder, exam: Exam[Any], facts: Mapping[str, Any]) -> str:
    """The card that data set hubs show."""
    size = len(exam.questions)
    bucket = next(word for most, word in ((1000, "n<1K"), (10_000, "1K<n<10K"), (10**9, "10K<n<100K")) if size < most)
    pictured = any(question.reference is not None for question in exam.questions)
    held, painter = ("criteria and a reference image", "reference") if pictured else ("criteria", "text")
    owned = " Each picture has its own, in `provenance.csv`." if pictured else ""
    return f"""---
pretty_name: {facts["name"]}
license: {facts["licence"].lower()}
language: [en]
task_categories: [text-to-image]
size_categories: [{bucket}]
tags: [benchmark, text-to-image, limner]
configs:
- config_name: default
  data_files: questions.jsonl
---

# {facts["name"]}

{size} questions that text-to-image models are examined by, each with {held}, in the layout of
the exam {exam.kind}. Made with Limner by the recipe {builder.recipe.name}; `DATASHEET.md` says how, with counts.

```
limner exam check exam.toml
limner run exam.toml --painter control/{painter} --judge ocr
```

```python
from datasets import load_dataset
questions = load_dataset("json", data_files="questions.jsonl", split="train")
```

Licence of questions and points: {facts["licence"]}.{owned} This data is for
examining models, not for training them. {facts["name"]} canary GUID {facts["canary"]}
"""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(heads), line(["---"] * len(heads)), *map(line, rows)]
