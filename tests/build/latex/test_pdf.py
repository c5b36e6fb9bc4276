"""PDF figures become pictures, by a worker that may fail."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from limner.build.latex import pdf
from limner.build.latex.pdf import check_pdf, first_page
from limner.core.errors import UsageError
from limner.core.images import BadImage


def test_the_first_page_is_drawn() -> None:
    out = io.BytesIO()
    pages = [Image.new("RGB", (300, 150), colour) for colour in ("navy", "red")]
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:])
    drawn = Image.open(io.BytesIO(first_page(out.getvalue())))
    assert drawn.size == (pdf.SIDE, pdf.SIDE // 2)
    red, green, blue = drawn.convert("RGB").getpixel((500, 500))  # type: ignore[misc]
    assert blue > 100 > max(red, green)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4 junk", b"\x89PNG"])
def test_what_is_no_pdf_is_told(data: bytes) -> None:
    with pytest.raises(BadImage, match="cannot be drawn"):
        first_page(data)


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    check_pdf()
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"limner\[build\].*figures\.pdf=false"):
        check_pdf()
