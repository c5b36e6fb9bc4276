"""FEPBench: the printed tables recombine by our equations, and generated verdicts get the scores worked out apart."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import limner as package
from limner.exams.fepbench import FEPBENCH, protocol
from tests.cli.invoke import limner
from tests.support import picture

FILE = Path(package.__file__).parent / "exams" / "fepbench" / "paper" / "published.csv"
ROUNDING = 0.0005
"""A figure printed with three decimals lies at most this far from what was printed."""
PARTS = {
    "IF": ("visual", "text", "relation", "layout"),
    "RE": ("visual", "text", "relation"),
    "SP": ("visual", "text", "relation"),
}
REGIMES = ("free-form", "structured")


def rows(table: str) -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["table"] == table]


def figures(table: str) -> dict[str, dict[tuple[str, str], float]]:
    """Model -> category and metric -> figure."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows(table):
        found.setdefault(row["model"], {})[row["category"], row["metric"]] = float(row["value"])
    return found


TABLE2, TABLE3 = figures("Table 2"), figures("Table 3")
each_score = pytest.mark.parametrize(
    ("model", "metric"), [(model, metric) for model in TABLE2 for metric in PARTS], ids=lambda word: str(word)
)


def counts() -> dict[str, int]:
    """Samples by domain, from the printed counts by domain and panel type."""
    found: dict[str, int] = {}
    for row in rows("Table 5"):
        if row["metric"] == "N":
            domain = row["category"].split(" / ")[0]
            found[domain] = found.get(domain, 0) + int(row["value"])
    return found


def test_the_tables_are_whole() -> None:
    assert len(TABLE2) == len(TABLE3) == 9
    assert all(len(row) == 10 + 3 for row in TABLE2.values())
    assert all(len(row) == 2 * 4 * 3 for row in TABLE3.values())
    assert counts() == {"Physics & Materials": 600, "Geography & Ecology": 200, "Biology & Medicine": 500}


@each_score
def test_table_2_is_the_mean_of_its_parts(model: str, metric: str) -> None:
    row = TABLE2[model]
    combined = protocol.mean_if_known(row[part, metric] for part in PARTS[metric])
    assert combined == pytest.approx(row["Mean", metric], abs=2 * ROUNDING + 1e-9)


@each_score
@pytest.mark.parametrize("regime", REGIMES)
def test_table_3_weighs_domains_by_their_samples(model: str, metric: str, regime: str) -> None:
    row, weights = TABLE3[model], counts()
    combined = sum(row[f"{regime} / {domain}", metric] * n for domain, n in weights.items()) / sum(weights.values())
    assert combined == pytest.approx(row[f"{regime} / Overall", metric], abs=2 * ROUNDING + 1e-9)


@each_score
def test_table_2_pools_the_regimes_of_table_3(model: str, metric: str) -> None:
    """Both regimes have all 1,300 samples, so the mean over all drawings is the mean of the two."""
    pooled = protocol.mean_if_known(TABLE3[model][f"{regime} / Overall", metric] for regime in REGIMES)
    assert pooled == pytest.approx(TABLE2[model]["Mean", metric], abs=2 * ROUNDING + 1e-9)


def test_a_wrong_way_to_combine_shows() -> None:
    """The layout counts: without it no IF would come out."""
    off = [
        abs(sum(row[part, "IF"] for part in PARTS["RE"]) / 3 - row["Mean", "IF"]) > 2 * ROUNDING
        for row in TABLE2.values()
    ]
    assert all(off)


def test_atoms_per_figure_sum_up() -> None:
    table = figures("Table 5")[""]
    for category in {category for category, _ in table}:
        for role in ("instruction", "reasoning"):
            parts = [table[category, f"mean_{role}_atoms_{part}"] for part in PARTS["RE"]]
            # Layout atoms are not in these totals: so complexity counts the other three.
            assert sum(parts) == pytest.approx(table[category, f"mean_{role}_atoms_total"], abs=0.0201)


def test_the_presets_hold_the_printed_settings() -> None:
    table: dict[str, dict[str, str]] = {}
    for row in rows("Table 6"):
        table.setdefault(row["model"], {})[row["metric"]] = row["value"]
    small, large = "1024x1024 / 1536x1024 / 1024x1536", "1920x1920 / 1920x1080 / 1080x1920"
    args = FEPBENCH.preset("paper-open")["painter_args"]
    assert " / ".join(args["size"][aspect] for aspect in ("square", "landscape", "portrait")) == large
    for name, row in table.items():
        assert row["negative_prompt"] == "None"
        assert row["generation_size"] in (small, large)
        if row["access"] == "Open-source":
            assert (int(row["steps"]), float(row["cfg_guidance"])) == (
                args["num_inference_steps"],
                args["guidance_scale"],
            )
            assert (row["generation_size"] == small) == (name == "HunyuanImage-3.0")


SAMPLES: list[dict[str, Any]] = (
    [] if FEPBENCH.sample is None
    else [json.loads(line) for line in (FEPBENCH.sample / "samples.jsonl").read_text("utf-8").splitlines()]
)  # fmt: skip
FLAGS = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}
LAYOUT = ("panel_structure", "panel_count", "global_layout")


def verdict(sample: Mapping[str, Any], generator: random.Random) -> dict[str, Any]:
    """A verifier's and a precision verifier's reply, drawn at random; now and then nothing of a modality is there."""
    verify: dict[str, Any] = {}
    for modality, flags in FLAGS.items():
        share = generator.choice((0.0, 0.5, 0.8))
        verify[modality] = [
            {"id": atom["id"], "reason": "", **{flag: int(generator.random() < share) for flag in flags}}
            for atom in sample["atoms"][modality]
        ]
        generator.shuffle(verify[modality])
    verify["layout"] = {"reason": "", **{flag: generator.randint(0, 1) for flag in LAYOUT}}
    items = [
        {"modality": modality, "item": f"thing {n}", "place": "left"}
        for modality in FLAGS
        for n in range(generator.choice((0, 0, 2, 5)))
    ]
    again = [{**item, "item": f" {item['item'].upper()} . "} for item in items[:1]]
    return {"verify": verify, "unexpected": {"unexpected": items + again}}


def plain_mean(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    return sum(found, Fraction(0)) / len(found)


def expected(sample: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Fraction | None]:
    """The scores of one drawing, written down once more from the paper, in fractions."""
    found: dict[str, Fraction | None] = {}
    realised, extra = dict.fromkeys(FLAGS, 0), dict.fromkeys(FLAGS, 0)
    for modality, (gate, one, other) in FLAGS.items():
        answers = {entry["id"]: entry for entry in said["verify"][modality]}
        for role, name in (("instruction", "if"), ("reasoning", "re")):
            matches = [
                answers[atom["id"]][gate] * Fraction(answers[atom["id"]][one] + answers[atom["id"]][other], 2)
                for atom in sample["atoms"][modality]
                if atom["role"] == role
            ]
            found[f"{name}_{modality}"] = plain_mean(matches)
        realised[modality] = sum(entry[gate] for entry in answers.values())
        listed = [item for item in said["unexpected"]["unexpected"] if item["modality"] == modality]
        extra[modality] = len({item["item"].strip(" .").lower() for item in listed})
        drawn = realised[modality] + extra[modality]
        found[f"sp_{modality}"] = Fraction(realised[modality], drawn) if drawn else None
    found["if_layout"] = plain_mean(Fraction(said["verify"]["layout"][flag]) for flag in LAYOUT)
    for name, parts in PARTS.items():
        known = [value for part in parts if (value := found[f"{name.lower()}_{part}"]) is not None]
        found[name.lower()] = plain_mean(known) if known else None
    return found


def check(scores: Mapping[str, Any], parts: Sequence[Mapping[str, Fraction | None]]) -> None:
    for name in parts[0]:
        known = [value for part in parts if (value := part[name]) is not None]
        if known:
            assert scores[name]["value"] == pytest.approx(float(plain_mean(known)), abs=1e-9), name
        else:
            assert scores[name]["value"] is None


@pytest.mark.slow
def test_generated_verdicts_over_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten painters, both regimes, from replies in a file to scores by regime, domain and panel type."""
    monkeypatch.chdir(tmp_path)
    generator, painters = random.Random(7), [f"painter-{n}" for n in range(10)]
    drawings, lines, truth = tmp_path / "drawings", [], {}
    for number, sample in enumerate(SAMPLES):
        for regime in ("free", "structured"):
            id = f"{sample['id']}/{regime}"
            (drawings / sample["id"]).mkdir(parents=True, exist_ok=True)
            (drawings / f"{id}.png").write_bytes(picture(number))
            for painter in painters:
                said = verdict(sample, generator)
                truth[painter, id] = (sample, regime, expected(sample, said))
                lines += [{"id": id, "painter": painter, "ask": ask, "reply": reply} for ask, reply in said.items()]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    words = [word for name in painters for word in ("--painter", f"{name}=folder/{drawings}")]
    limner("run", "sample/fepbench", *words, "--judge", "replay/replies.jsonl", "--format=json")
    exported = limner("export", "sample/fepbench").lines()
    assert len(exported) == len(truth) == 10 * 24
    for row in exported:
        for name, value in truth[row["painter"], row["id"]][2].items():
            assert row["scores"][name] == (None if value is None else pytest.approx(float(value), abs=1e-12))
    said = limner(
        "scores", "sample/fepbench", "--by", "regime", "--by", "domain", "--by", "panel_type", "--format", "json"
    ).json()
    assert len(said) == 10
    undefined = 0
    for standing in said:
        mine = [one for (painter, _), one in truth.items() if painter == standing["painter"]]
        check(standing["scores"], [scores for _, _, scores in mine])
        for regime, body in standing["by"]["regime"].items():
            check(body["scores"], [scores for _, its, scores in mine if its == regime])
        for tag in ("domain", "panel_type"):
            for value, body in standing["by"][tag].items():
                check(body["scores"], [scores for sample, _, scores in mine if sample[tag] == value])
        for modality, count in standing["analyses"]["undefined_sp"].items():
            assert count == sum(scores[f"sp_{modality}"] is None for _, _, scores in mine)
            undefined += count
    assert undefined > 0
