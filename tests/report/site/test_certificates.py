"""The page of a certificate, and how the site and tables name a judge that has one."""

from __future__ import annotations

from pathlib import Path

from limner.report.site import build
from limner.report.site.single_page import certificate_page
from limner.store import Store
from limner.store.markings import CertificateRow, marking_setups, save_certificate
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.support import write_exam

ENDS = {"value": 0.5, "low": None, "high": None, "n": 3}


def body(image: str) -> dict[str, object]:
    answer = {
        "criterion": "point/1",
        "text": "Is <b>it</b> there?",
        "top": 1,
        "expected": "fall",
        "value": 1,
        "reason": "x",
    }
    picture = {"kind": "erase", "dose": 3, "question": "q", "image": image, "said": "erased: 'A'", "answers": [answer]}
    return {
        "kind": "certificate", "judge": "replay/<x>", "exam": "genexam", "seed": 0, "questions": 1, "asked": 1,
        "failed": 0, "verdict": "cannot see the drawing", "tests": [], "flagged": ["sight"], "doses": [],
        "cost": 0.0, "seconds": None,
        "false_alarms": {"all": ENDS, "labels": ENDS}, "pictures": [picture], "gold": [],
        "consistency": {"tag": "level", "scores": ["s"], "rows": [], "least": {"s": 0.9}, "reached": False},
    }  # fmt: skip


def test_site_links_certificate_and_tables_show_its_date(tmp_path: Path) -> None:
    small = write_exam(tmp_path, 2)
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', {'one': verdicts(small.rows, 5)})}"
    place = tmp_path / "store"
    asked = ("--data", small.data, "--judge", judge, "--store", place)
    limner("run", "genexam", "--painter", f"one=folder/{small.drawings}", *asked)
    with Store(place) as store:
        (setup,) = marking_setups(store, "genexam")
        image, _ = store.blobs.put(small.drawing(small.ids[0]).read_bytes())
        assert "(not examined)" in limner("scores", "genexam", "--store", place).out
        row = save_certificate(store, setup, "genexam", body(image))
        page = certificate_page(row, store.blobs)
        words = f"examined {row.day}: cannot see the drawing"
        for command in ("scores", "compare"):
            assert words in " ".join(limner(command, "genexam", "--store", place).out.split())
        assert limner("scores", "genexam", "--store", place, "--format=json").json()[0]["examined"] in words
        assert page.index("do not use its marks") < page.index("<table") < page.index("<details>")
        assert "<b>it</b>" not in page
        assert 'class="wrong"' in page
        assert "s &gt; 0.9: not reached" in page
        lost = CertificateRow("i", setup, "genexam", body("0" * 64), 0.0)
        assert "<img" not in certificate_page(lost, store.blobs)
    build(tmp_path / "site", store=place)
    (written,) = (tmp_path / "site" / "exams" / "genexam").glob("certificate-*.html")
    assert written.read_text("utf-8") == page
    data = "".join(file.read_text("utf-8") for file in (tmp_path / "site" / "exams").rglob("*.js"))
    assert written.name in data
    assert row.day in data
