"""Differences between the settings behind a store's numbers and those of the exam's paper. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.evaluator import Evaluator, without_options
from ..exams import PAPER, Kind, preset_painter_args
from ..exams.released import RELEASE, is_shipped, release_of
from ..painters.diffusers.options import ALIASES
from .entries import Group

IMPORTED = "imported"
ELSEWHERE = ("folder", "import")
"""The prefixes of specs whose seed, size and sampler are unknown."""
SAMPLED = ("diffusers", "local")
"""The prefixes of specs for which the user chooses the sampler."""
Preset = Mapping[str, Any]


def deviations(kind: Kind[Any], group: Group, reading: str, questions: int | None = None) -> list[str]:
    """Return a description of each difference from the paper's settings, or from the nearest of several.

    Args:
        kind: The exam's kind.
        group: One painter under one evaluator, with the questions that its numbers are based on.
        reading: How stored replies are read.
        questions: The number of questions behind the paper's numbers, if known.
    """
    differences = of_marks(kind, group.evaluator, reading) + of_drawings(kind, [group])
    return differences + of_number(len({entry.question.id for entry in group.scored}), questions)


def of_marks(kind: Kind[Any], evaluator: Evaluator, reading: str) -> list[str]:
    """Return the differences in judge, reading, variant, options, arguments and wording."""
    paper = kind.paper_presets
    same = [preset for preset in paper if preset.get("judge") == evaluator.judge] or paper
    differences = min((_marked(preset, evaluator, reading) for preset in same), key=len, default=[])
    return differences + _wording(kind, evaluator)


def of_drawings(kind: Kind[Any], groups: Sequence[Group]) -> list[str]:
    """Return the differences in seed, sampler and size of some painters' drawings, if the paper states these."""
    paper = kind.paper_presets
    differences = (
        min((_drawn(preset, group) for preset in _fitting(paper, group)), key=len, default=[]) for group in groups
    )
    return list(dict.fromkeys(word for words in differences for word in words))


def of_number(count: int, paper: int | None, what: str = "question") -> list[str]:
    """Return a remark on the number of questions or drawings behind the numbers; empty without numbers."""
    if paper is None or count in (0, paper):
        return []
    return [f"{count} {what}{'' if count == 1 else 's'} where the paper has {paper}"]


def _fitting(paper: Sequence[Preset], group: Group) -> Sequence[Preset]:
    """Return the presets that set a sampler if the user can choose one, else all presets."""
    sampled = [preset for preset in paper if preset.get("painter_args")]
    return sampled if sampled and _starts(group, SAMPLED) else paper


def drawn_elsewhere(group: Group) -> bool:
    """Return whether a group's drawings were imported or are finished pictures of a folder."""
    return group.entries[0].drawing.origin == "import" or _starts(group, ELSEWHERE)


def _starts(group: Group, words: Sequence[str]) -> bool:
    return group.spec.partition("/")[0] in words


def _marked(preset: Preset, evaluator: Evaluator, reading: str) -> list[str]:
    setup, differences = evaluator.setup, []
    if evaluator.judge != preset.get("judge"):
        differences.append(f"judge {evaluator.judge} instead of {preset.get('judge')}")
    if reading != preset.get("reading", PAPER):
        differences.append(f"reading {reading} instead of {preset.get('reading', PAPER)}")
    if evaluator.variant == IMPORTED:
        return [*differences, "imported: how the judge was asked is not known"]
    if "variant" in setup and evaluator.variant != preset.get("variant"):
        differences.append(f"variant {evaluator.variant} instead of {preset.get('variant')}")
    if "options" in setup:
        differences += _pairs(evaluator.options, preset.get("options", {}))
    if "args" in setup:
        differences += _pairs(evaluator.args, preset.get("judge_args", {}))
    return differences


def _wording(kind: Kind[Any], evaluator: Evaluator) -> list[str]:
    """Return a remark on whose wording the judge was asked in: ours, the user's or the release's."""
    if evaluator.wording is None:
        return []
    if evaluator.setup.get("prompts") == RELEASE:
        file = release.file if (release := release_of(kind)) else "file"
        return [f"prompts in the release's own wording ({file}, {evaluator.wording[:4]})"]
    if not is_shipped(kind, evaluator.setup):
        return ["prompts in another wording"]
    return ["prompts in Limner's wording"]


def _drawn(preset: Preset, group: Group) -> list[str]:
    usual = preset_painter_args(preset, without_options(group.painter), group.spec)
    args = {ALIASES.get(name, name): value for name, value in usual.items()}
    size = args.pop("size", None)
    named = ["seed"] * ("seed" in preset) + [*args] + ["size"] * (size is not None)
    first = group.entries[0].drawing
    if group.control:
        return []
    if drawn_elsewhere(group):
        return [f"drawn elsewhere: {' and '.join(named)} not known"] if named else []
    differences = []
    seeds = sorted({entry.drawing.seed for entry in group.entries})
    if "seed" in preset and seeds != [preset["seed"]]:
        seed_words = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        differences.append(f"{seed_words} instead of {preset['seed']}")
    given = {ALIASES.get(name, name): value for name, value in first.options.items() if name != "size"}
    # Some painters have only this guidance; if both are set, it is an additional one.
    if "guidance" in args and "guidance" not in given and "true_cfg_scale" in given:
        given["guidance"] = given.pop("true_cfg_scale")
    differences += _pairs(given, args)
    return differences + (_sizes(size, group) if size is not None else [])


def _sizes(wanted: Any, group: Group) -> list[str]:
    """Return a remark on the most common size, if the paper uses another one for the same aspect ratio."""
    odd: Counter[tuple[str, str]] = Counter()
    for entry in group.entries:
        drawing, aspect = entry.drawing, entry.question.tags.get("aspect", "square")
        usual = wanted.get(aspect) if isinstance(wanted, Mapping) else wanted
        if drawing.width and drawing.height and usual and f"{drawing.width}x{drawing.height}" != usual:
            odd[f"{drawing.width}x{drawing.height}", str(usual)] += 1
    return [f"size {size} instead of {usual}" for (size, usual), _ in odd.most_common(1)]


def _pairs(given: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    differences = []
    for name in sorted({*given, *usual}):
        if name not in usual:
            differences.append(f"{name}={given[name]} added")
        elif name not in given:
            differences.append(f"no {name}={usual[name]}")
        elif given[name] != usual[name]:
            differences.append(f"{name}={given[name]} instead of {usual[name]}")
    return differences
