"""What the released scorer wrote is read back: the reply, the rubric it was made with, and what is unreadable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.genexam.data import read_results
from tests.exams.genexam.replies import reply

RESULT: dict[str, Any] = {
    **reply([1, 0], [2, 1, 0]),
    "id": "Q_1",
    "scoring_points": [{"question": "Is part 1 there?", "score": 0.6}, {"question": "Is part 2 there?", "score": 0.4}],
    "subject": "Q",
    "gen_img_path": "/elsewhere/Q_1.png",
}


def write(folder: Path, name: str, body: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
    return path


def test_full_result_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, "deep/er/Q_1.json", RESULT)
    (found,) = read_results(tmp_path)
    assert (found.question, found.file, found.fault) == ("Q_1", file, None)
    assert found.rubric == {"scoring_points": RESULT["scoring_points"]}
    ((ask, text),) = found.replies
    assert ask == "mark"
    assert json.loads(text) == reply([1, 0], [2, 1, 0])


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe\xff", b"[" * 100_000], ids=["cut", "empty", "bytes", "deep"])
def test_unreadable_result_is_identified_by_file_name(tmp_path: Path, body: bytes) -> None:
    write(tmp_path, "sub/Q_1.json", body)
    (found,) = read_results(tmp_path)
    assert (found.question, found.replies) == ("sub/Q_1", ())
    assert found.fault is not None
    assert found.fault.startswith("not readable as JSON")


@pytest.mark.parametrize("body", [[RESULT], "text", {"answers": []}, {**RESULT, "id": 3}, None])
def test_file_that_is_not_result_is_rejected(tmp_path: Path, body: object) -> None:
    file = write(tmp_path, "Q_1.json", body)
    with pytest.raises(DataError, match='a result must be an object with a text "id"') as caught:
        list(read_results(tmp_path))
    assert caught.value.file == file


def test_folder_without_results_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, "Q_1.txt", RESULT)
    with pytest.raises(DataError, match=r"no \*\.json result in this folder"):
        list(read_results(tmp_path))
