"""LaTeX sources: archives and folders are read, and nothing leads out of them or fills the machine."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.latex import sources
from limner.build.latex.sources import find_papers, read_source
from limner.core.errors import DataError
from tests.build.papers import packed

TEX = b"\\documentclass{article}\\begin{document}x\\end{document}"


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_papers_are_found_in_folders_of_venues(tmp_path: Path) -> None:
    (tmp_path / "CVPR_2025").mkdir()
    (tmp_path / "CVPR_2025" / "2501.1v1.tar.gz").write_bytes(packed({"a.tex": TEX}))
    (tmp_path / "ICCV_2025" / "2502.2v1" / "figs").mkdir(parents=True)
    (tmp_path / "ICCV_2025" / "2502.2v1" / "main.tex").write_bytes(TEX)
    (tmp_path / "papers.csv").write_text("id\n")
    assert [id for id, _ in find_papers(tmp_path)] == ["CVPR_2025/2501.1v1", "ICCV_2025/2502.2v1"]


def test_two_papers_of_one_id_and_none_at_all_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no paper here"):
        find_papers(tmp_path)
    (tmp_path / "a.tar.gz").write_bytes(b"")
    (tmp_path / "a.tgz").write_bytes(b"")
    with pytest.raises(DataError, match="both the paper a"):
        find_papers(tmp_path)


def test_nothing_leads_out_of_an_archive(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link.tex")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device = tarfile.TarInfo("null.tex")
    device.type = tarfile.CHRTYPE
    (tmp_path / "p.tar.gz").write_bytes(
        archive((tarfile.TarInfo("main.tex"), TEX), (tarfile.TarInfo("../out.tex"), b"x"),
                (tarfile.TarInfo("/abs.tex"), b"x"), (link, b""), (device, b""),
                (tarfile.TarInfo("a/../../b.tex"), b""))
    )  # fmt: skip
    found = read_source(tmp_path / "p.tar.gz", "p")
    assert found.names == {"main.tex"}
    assert len(found.left_out) == 5
    assert list(tmp_path.iterdir()) == [tmp_path / "p.tar.gz"], "nothing is unpacked on disk"


def test_links_in_folders_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text("secret")
    paper = tmp_path / "paper"
    paper.mkdir()
    (paper / "main.tex").write_bytes(TEX)
    (paper / "more.tex").symlink_to(tmp_path / "secret.tex")
    (paper / "up").symlink_to(tmp_path)
    found = read_source(paper, "p")
    assert found.texts.keys() == {"main.tex"}
    assert "more.tex: a link" in found.left_out


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED", 1_000_000)
    (tmp_path / "p.tar.gz").write_bytes(packed({"main.tex": TEX, "big.bin": bytes(2_000_000)}))
    with pytest.raises(DataError, match="bytes unpacked"):
        read_source(tmp_path / "p.tar.gz", "p")
    monkeypatch.setattr(sources, "MAX_FILES", 3)
    (tmp_path / "q.tar.gz").write_bytes(packed({f"{n}.tex": TEX for n in range(5)}))
    with pytest.raises(DataError, match="files"):
        read_source(tmp_path / "q.tar.gz", "q")


def test_one_gzipped_file_is_a_paper(tmp_path: Path) -> None:
    (tmp_path / "p.gz").write_bytes(gzip.compress(TEX))
    assert read_source(tmp_path / "p.gz", "p").texts.keys() == {"main.tex"}
    (tmp_path / "q.gz").write_bytes(gzip.compress(b"%PDF-1.5"))
    with pytest.raises(DataError, match="no LaTeX file either"):
        read_source(tmp_path / "q.gz", "q")


def test_figures_are_read_when_they_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "p.tar.gz").write_bytes(packed({"main.tex": TEX, "a.png": b"aaa", "b.png": b"bbb"}))
    found = read_source(tmp_path / "p.tar.gz", "p")
    assert found.take("b.png", "none.png") == {"b.png": b"bbb"}


@given(st.binary(max_size=400))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.tar.gz"
        path.write_bytes(data)
        with pytest.raises(DataError):
            read_source(path, "p")
