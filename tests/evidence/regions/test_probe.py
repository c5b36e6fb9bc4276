"""Counting regions: the text is read first, a worker counts, the number and who counted are kept."""

from __future__ import annotations

import asyncio
import re

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from limner.calls import Calls
from limner.core import settings
from limner.core.errors import UsageError
from limner.core.images import Preparer, decode, encode_png, font
from limner.evidence.backends import MAX_NAME_CHARS, Measuring, RegionsProbe, open_probe, open_probes, word_and_options
from limner.evidence.probe import Finding, OcrProbe, Probe
from limner.evidence.regions import open_counter
from limner.store import Store
from limner.store.schema import attempts, calls


def plate() -> bytes:
    """Three fields and two labels on white."""
    image = Image.new("RGB", (640, 400), "white")
    pen = ImageDraw.Draw(image)
    for place, colour in enumerate(("red", "green", "blue")):
        pen.rectangle((60 + 190 * place, 40, 200 + 190 * place, 200), colour)
    pen.text((60, 240), "Three fields", "black", font(32))
    pen.text((60, 320), "in a row", "black", font(32))
    return encode_png(image)


def measure(probe: Probe, data: bytes, store: Store) -> Finding:
    async def run() -> Finding:
        async with Calls(store) as journal:
            return await probe.measure(data, journal)

    return asyncio.run(run())


@pytest.mark.slow
def test_region_count_is_sum_of_masks_and_lines(store: Store) -> None:
    probe = RegionsProbe("classical", {}, OcrProbe())
    probe.check()
    found = measure(probe, plate(), store)
    lines = measure(OcrProbe(), plate(), store).lines
    assert found.value == open_counter("classical").count(decode(plate()), lines).count == 5
    with store.reading() as connection:
        query = sa.select(attempts.c.result).join(calls, calls.c.key == attempts.c.call)
        (kept,) = connection.execute(query.where(calls.c.target.startswith("regions/"))).scalars()
    assert (kept["value"]["masks"], kept["value"]["lines"], len(kept["value"]["boxes"])) == (3, 2, 5)


def test_name_includes_counter_and_reader() -> None:
    probe = RegionsProbe("classical", {}, OcrProbe())
    counter = open_counter("classical").name
    assert re.fullmatch(rf"{re.escape(counter)} lines=rapidocr/[\d.]+#[0-9a-f]{{12}}", probe.name)
    assert probe.unpriced() is None

    class Other(OcrProbe):
        @property
        def name(self) -> str:
            return "x" * 300

    long = RegionsProbe("classical", {}, Other()).name
    assert len(long) <= MAX_NAME_CHARS
    assert long != RegionsProbe("classical", {}, OcrProbe()).name


def test_invalid_probe_options_are_usage_errors(store: Store) -> None:
    images = Preparer(store.blobs.get)

    def opened(**words: str) -> list[Probe]:
        return open_probes((), (), Measuring(words), settings.load(), images)

    for words, message in (
        ({"regions": "sam9"}, "--regions sam9: choose from classical, key, sam2-tiny"),
        ({"regions": "classical?speed=1"}, "no option speed"),
        ({"regions": "counts.csv"}, "--regions counts.csv: import tables of regions and aesthetics with"),
        ({"ocr": "eyes"}, "--ocr eyes: choose from rapidocr, tesseract"),
        ({"ocr": "some/table.csv"}, "--ocr some/table.csv: import tables"),
        ({"aesthetics": "taste"}, "--aesthetics taste: choose from unipercept"),
        ({"aesthetics": "nobody/model"}, "no provider 'nobody'"),
    ):
        with pytest.raises(UsageError) as caught:
            opened(**words)
        assert message in str(caught.value)
    with pytest.raises(UsageError, match="choose a backend"):
        open_probes((), (), Measuring(probes=("aesthetics",)), settings.load(), images)


def test_requested_and_needed_evidence_is_measured(store: Store) -> None:
    known, images = settings.load(), Preparer(store.blobs.get)

    def names(needs: str = "", uses: str = "", measuring: Measuring | None = None, known: settings.Settings = known):  # type: ignore[no-untyped-def]
        return [p.evidence for p in open_probes(needs.split(), uses.split(), measuring or Measuring(), known, images)]

    assert names() == names("", "aesthetics") == names("something else") == []
    assert names("regions") == ["regions"]
    assert names("regions", "", Measuring({"regions": "none"})) == []
    assert names("regions ocr") == ["ocr", "regions"]
    assert names("regions", "", Measuring(probes=("ocr",))) == ["ocr"]
    assert names("", "", Measuring({"regions": "classical"})) == ["regions"]
    own = known.model_copy(update={"evidence": settings.Measures(aesthetics="local/model")})
    assert names("", "aesthetics", None, own) == ["aesthetics"]
    assert names("regions", "", None, own) == ["regions"]


def test_settings_configure_probe_timeouts(store: Store) -> None:
    own = settings.load().model_copy(update={"evidence": settings.Measures(regions_timeout_s=5.5, ocr_timeout_s=4.5)})
    ocr, regions = open_probes((), (), Measuring(probes=("ocr", "regions")), own, Preparer(store.blobs.get))
    assert isinstance(ocr, OcrProbe)
    assert isinstance(regions, RegionsProbe)
    assert (ocr.seconds, regions.seconds) == (4.5, 5.5)


def test_options_follow_question_mark() -> None:
    assert word_and_options("sam2.1-large") == ("sam2.1-large", {})
    assert word_and_options("x?a=1&b=true&c=cuda:0&d=") == ("x", {"a": 1, "b": True, "c": "cuda:0", "d": ""})


@given(st.sampled_from(("ocr", "regions", "aesthetics")), st.text() | st.from_regex(r"[a-z0-9.-]{0,9}[:?/][^/]*"))
def test_any_word_opens_probe_or_is_rejected(evidence: str, word: str) -> None:
    nowhere = Preparer(lambda _: b"")
    try:
        found = open_probe(evidence, word, settings.load(), nowhere, OcrProbe())
    except UsageError:
        return
    assert found.evidence == evidence
