"""LaTeX papers: sources read safely, flattened, macros put into words, sections and figures found."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import limner
from limner.core.errors import DataError, UsageError
from limner.core.images import BadImage, decode
from limner.exams.aibench.protocol import strip_latex
from limner.exams.aibench.recipe import latex_figures as figures
from limner.exams.aibench.recipe import latex_sources as sources
from limner.exams.aibench.recipe.latex_figures import (
    check_pdf,
    compile_tikz,
    first_page,
    method_section,
    rank_figures,
    sections,
)
from limner.exams.aibench.recipe.latex_sources import (
    FlatPaper,
    LatexSource,
    find_papers,
    flatten,
    read_source,
    without_comments,
)
from limner.exams.aibench.recipe.latex_text import absent_terms, expand_macros, occurs
from limner.exams.aibench.recipe.steps import read_rules
from tests.build.papers import packed
from tests.needs import need

HEAD = "\\documentclass{article}\n\\begin{document}\n"
END = "\n\\end{document}"


def flat(**files: str) -> FlatPaper:
    named = {name.replace("__", "/") + ".tex": text for name, text in files.items()}
    return flatten(LatexSource("p", Path("p"), named, frozenset(named)))


def test_every_include_command_is_followed() -> None:
    body = "\\input{a}\\input b.tex \\include{sub/c}\\import{sub/}{d}\\subimport{sub/}{d}\\subfile{e}"
    inner = HEAD + "E" + END
    found = flat(main=HEAD + body + END, a="A", b="B", sub__c="C", sub__d="D\\input{c}", e=inner)
    assert "".join(found.body.split()) == "ABCDCDCE"
    assert found.missing == ()


def test_recursive_include_terminates() -> None:
    found = flat(main=HEAD + "x\\input{a}" + END, a="a\\input{b}", b="b\\input{a}\\input{main}")
    assert found.body == "xab"


def test_missing_include_is_reported() -> None:
    assert flat(main=HEAD + "x\\input{nowhere}y" + END).missing == ("nowhere",)


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"supplement": HEAD + "s" * 500 + END, "paper": HEAD + "p" + END}, "paper.tex"),
        ({"rebuttal": HEAD + "r" + END, "odd": HEAD + "o" + END}, "odd.tex"),
        ({"x": HEAD + "short" + END, "y": HEAD + "longer text" + END}, "y.tex"),
    ],
)
def test_main_file_is_chosen(files: dict[str, str], main: str) -> None:
    assert flat(**files).main == main


def test_missing_document_is_reported() -> None:
    with pytest.raises(DataError, match="documentclass"):
        flat(main="just text")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a %\n\nb", "a \n\nb"),
        ("5\\% of % x\nall", "5\\% of all"),
        ("\\begin{verbatim}% stays\n\\end{verbatim}", "\\begin{verbatim}% stays\n\\end{verbatim}"),
        ("\\verb|%| % goes", "\\verb|%| "),
        ("a\\begin{comment} b \\end{comment}c", "ac"),
        ("a\\iffalse b \\ifx c\\fi d\\else e\\fi f", "a e f"),
        ("x \\iff y \\iffalse z", "x \\iff y \\iffalse z"),
    ],
)
def test_comments_are_removed(text: str, plain: str) -> None:
    assert without_comments(text) == plain


def done(preamble: str, body: str) -> str:
    return expand_macros(FlatPaper(preamble, body, "main.tex"))[0]


@pytest.mark.parametrize(
    ("preamble", "body", "text"),
    [
        (r"\newcommand{\ours}{Tide}", r"\ours{} and \ours.", "Tide and Tide."),
        (r"\newcommand\ours{Tide\xspace}", r"We show \ours works, \ours.", "We show Tide works, Tide."),
        (r"\newcommand{\f}[2]{#1(#2)}", r"\f{a}{b} \f xy", "a(b) x(y)"),
        (r"\newcommand*{\f}[2][z]{#1:#2}", r"\f{a} \f[b]{c}", "z:a b:c"),
        (r"\def\f#1#2{#2#1}", r"\f{a}{b}", "ba"),
        (r"\newcommand{\a}{x}\renewcommand{\a}{y}", r"\a", "y"),
        (r"\newcommand{\a}{x}\providecommand{\a}{y}\providecommand{\b}{z}", r"\a\b", "xz"),
        (r"\DeclareMathOperator*{\argmin}{arg\,min}", r"$\argmin_x$", r"$\operatorname{arg\,min}_x$"),
        (r"\newcommand{\bb}{\mathbf}", r"\bb{x}", r"\mathbf{x}"),
        (r"\newcommand{\bb}{\mathbf}", r"\bb x\bb{y}", r"\mathbf x\mathbf{y}"),
        (r"\newcommand{\g}[1]{<#1>}\newcommand{\alias}{\g}", r"\alias{a}", "<a>"),
        (r"\newcommand{\g}{G}\let\h\g", r"\h", "G"),
        (r"\newcommand{\o}[1]{(#1)}\newcommand{\i}{i}", r"\o{\o{\i}}", "((i))"),
        (r"\renewcommand{\section}[1]{#1}", r"\section{Method}", r"\section{Method}"),
        (r"\newcommand{\x}{\ifmmode a\else b\fi}", r"\x", r"\x"),
        (r"\newcommand{\x}{\makeatletter\@x}", r"\x", r"\x"),
        ("", r"\newcommand{\late}{L}\late", "L"),
        ("", r"\unknown{a} 5\% \\ \$", r"\unknown{a} 5\% \\ \$"),
    ],
)
def test_macros_are_expanded(preamble: str, body: str, text: str) -> None:
    assert done(preamble, body) == text


@pytest.mark.parametrize("body", [r"\loop\loop", r"x\loop", r"\loop{\loop}"])
def test_endless_macros_are_left_unexpanded(body: str) -> None:
    text, notes = expand_macros(FlatPaper(rf"\newcommand{{\loop}}{{{body}}}", r"\loop end", "m"))
    assert notes == ("macros that expand without end are left unexpanded",)
    assert text.endswith("end")


def test_truncated_definitions_are_harmless() -> None:
    for broken in (
        "\\newcommand",
        "\\newcommand{\\a",
        "\\newcommand{\\a}[2]{#1",
        "\\def",
        "\\let\\a",
        "\\",
        "\\def\\a#1",
    ):
        done(broken, f"text {broken}")


RULES = read_rules(Path(str(limner.__file__)).parent / "exams" / "aibench" / "recipe")
LONG = " ".join(f"word{'abcdefghij'[n % 10]}" for n in range(150))


def document(*titles: str) -> str:
    return "\n".join(f"\\section{{{title}}}\n{LONG}" for title in titles) + "\n\\appendix\\section{Method details} x"


@pytest.mark.parametrize(
    ("titles", "chosen", "by"),
    [
        (("Introduction", "Method", "Experiments"), "Method", "its heading"),
        (
            ("Introduction", "Background and Methods", "Our Approach", "Results"),
            "Our Approach",
            "its heading",
        ),
        (("Introduction", "Related Work", "\\textsc{Tide}", "Experiments"), "Tide", "its position"),
        (("Introduction", "Preliminaries", "Tide", "Evaluation", "Related Work"), "Tide", "its position"),
    ],
)
def test_method_section_is_found_by_rules(titles: tuple[str, ...], chosen: str, by: str) -> None:
    found = method_section(sections(document(*titles)), RULES.method)
    assert found is not None
    assert (found[0].title, found[1]) == (chosen, by)


@pytest.mark.parametrize(
    "titles",
    [("Introduction", "Tide", "Flow", "Experiments"), ("Tide", "Flow"), (), ("Introduction", "Experimental Method"),
     ("Introduction", "Results")],
)  # fmt: skip
def test_method_section_not_found_by_rules_is_left_to_model(titles: tuple[str, ...]) -> None:
    assert method_section(sections(document(*titles)), RULES.method) is None


TEXT = r"""The \emph{Gauge Encoder} $E_g$ maps readings to $h_g = E_g(g_{1:T})$ by self-attention~\cite{Hidden Name}.
Poincar\'e maps; \textbf{Pre-training} with $\mathcal{L}_{\theta}$ and the Teacher Model (DAM).
\begin{figure}\caption{Figure Words}\end{figure}"""


@pytest.mark.parametrize(
    "term",
    ["Gauge Encoder", "gauge  encoder", "Gauge Encoder E_g", "$h_g$", "h_g", "Poincaré maps", "Self attention",
     "Step 1: Pre-training", "Phase II – Pre-training", "Teacher Model (DAM)", "Gauge Encoder ($E_g$)",
     r"\mathcal{L}_\theta"],
)  # fmt: skip
def test_term_occurs_in_text(term: str) -> None:
    assert occurs(term, TEXT)


@pytest.mark.parametrize(
    "term",
    ["Radar Encoder", "auge Enc", "Gauge Encoders", "Gauge Encoder (GX)", "Hidden Name", "Figure Words",
     "Encoder Gauge", "Challenger Model", "Step 1: Fine-tuning"],
)  # fmt: skip
def test_absent_terms_are_listed(term: str) -> None:
    assert absent_terms([term, "Gauge Encoder"], TEXT) == [term]


def test_figures_are_ranked_and_resolved_to_files() -> None:
    method = r"""\section{Method}\begin{figure}\includegraphics[width=1cm]{pipeline}\caption{Overview of our method.}
\end{figure}\begin{figure}\begin{subfigure}\includegraphics{a.png}\caption{left}\end{subfigure}
\includegraphics{b.png}\caption{Two views of the framework}\end{figure}"""
    text = r"\begin{figure*}\includegraphics{img/results.eps}\caption{Qualitative comparison.}\end{figure*}" + method
    names = ["figs/pipeline.pdf", "figs/pipeline.png", "a.png", "img/results.eps"]
    found = rank_figures(text, method, names, RULES.figures, r"\graphicspath{{figs/}{more/}}")
    assert [one.file for one in found] == ["figs/pipeline.pdf", "a.png", "b.png", "img/results.eps"]
    assert found[0].caption == "Overview of our method."
    assert found[1].caption.startswith("Two views of the framework")
    assert found[2].why_not == "no such file in the source"
    assert "PDF are taken" in str(found[3].why_not)
    assert found[3].score < 0 < found[1].score < found[0].score


TEX = b"\\documentclass{article}\\begin{document}x\\end{document}"


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_papers_are_found_in_venue_folders(tmp_path: Path) -> None:
    (tmp_path / "CVPR_2025").mkdir()
    (tmp_path / "CVPR_2025" / "2501.1v1.tar.gz").write_bytes(packed({"a.tex": TEX}))
    (tmp_path / "ICCV_2025" / "2502.2v1" / "figs").mkdir(parents=True)
    (tmp_path / "ICCV_2025" / "2502.2v1" / "main.tex").write_bytes(TEX)
    (tmp_path / "papers.csv").write_text("id\n")
    assert [id for id, _ in find_papers(tmp_path)] == ["CVPR_2025/2501.1v1", "ICCV_2025/2502.2v1"]


def test_duplicate_and_missing_papers_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no paper here"):
        find_papers(tmp_path)
    (tmp_path / "a.tar.gz").write_bytes(b"")
    (tmp_path / "a.tgz").write_bytes(b"")
    with pytest.raises(DataError, match="both the paper a"):
        find_papers(tmp_path)


def test_archive_members_cannot_escape(tmp_path: Path) -> None:
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


def test_symlinks_in_folders_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text("secret")
    paper = tmp_path / "paper"
    paper.mkdir()
    (paper / "main.tex").write_bytes(TEX)
    (paper / "more.tex").symlink_to(tmp_path / "secret.tex")
    (paper / "up").symlink_to(tmp_path)
    found = read_source(paper, "p")
    assert found.texts.keys() == {"main.tex"}
    assert "more.tex: a link" in found.left_out


def test_archive_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.tar.gz"
        path.write_bytes(data)
        with pytest.raises(DataError):
            read_source(path, "p")


def test_first_page_is_rendered() -> None:
    out = io.BytesIO()
    pages = [Image.new("RGB", (300, 150), colour) for colour in ("navy", "red")]
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:])
    drawn = Image.open(io.BytesIO(first_page(out.getvalue())))
    assert drawn.size == (figures.SIDE, figures.SIDE // 2)
    red, green, blue = drawn.convert("RGB").getpixel((500, 500))  # type: ignore[misc]
    assert blue > 100 > max(red, green)


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4 junk", b"\x89PNG"])
def test_invalid_pdf_is_reported(data: bytes) -> None:
    with pytest.raises(BadImage, match="cannot be drawn"):
        first_page(data)


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    check_pdf()
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"limner\[build\].*figures\.pdf=false"):
        check_pdf()


def test_overpic_is_seen_and_tikz_is_named() -> None:
    document = (
        r"\begin{figure}\begin{overpic}[width=1]{figs/pipeline.png}\put(1,2){x}\end{overpic}"
        r"\caption{Overview of our method.}\end{figure}"
        r"\begin{figure}\begin{tikzpicture}\draw (0,0);\end{tikzpicture}\caption{The architecture.}\end{figure}"
    )
    found = rank_figures(document, document, ["figs/pipeline.png"], RULES.figures)
    assert [(one.file, bool(one.tikz)) for one in found] == [("figs/pipeline.png", False), ("TikZ figure 2", True)]


PREAMBLE = r"""\usepackage{cvpr}\usetikzlibrary{arrows.meta}
\definecolor{sea}{RGB}{20,60,200}\tikzset{box/.style={draw,fill=sea}}\newcommand{\x}{y}"""
DRAWN = r"""\begin{figure}\centering\begin{tikzpicture}\node[box] (a) {Encoder};
\draw[-{Latex}] (a) -- (3,0);\end{tikzpicture}\caption{The pipeline.}\end{figure}"""


def test_tikz_figure_is_drawn_with_the_settings_of_its_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    (figure,) = rank_figures(DRAWN, DRAWN, (), RULES.figures, PREAMBLE)
    assert "cvpr" not in figure.tikz
    kpsewhich = shutil.which("kpsewhich")
    tikz = kpsewhich and subprocess.run([kpsewhich, "tikz.sty"], capture_output=True, check=False).stdout
    need("tikz", bool(tikz), "TeX with TikZ is not installed")
    image = decode(first_page(compile_tikz(figure.tikz)))
    assert 2 < image.width / image.height < 12
    assert (20, 60, 200) in {colour for _, colour in image.getcolors(1 << 20) or ()}
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BadImage, match="install pdflatex"):
        compile_tikz(figure.tikz)


@pytest.mark.parametrize(
    "hostile", [r"\input{/etc/passwd}", r"\def\x{\x\x}\x", r"\undefined", r"\immediate\openout1=/tmp/limner-tex-test"],
    ids=["read", "endless", "broken", "write"],
)  # fmt: skip
def test_hostile_drawings_are_refused(hostile: str) -> None:
    need("pdflatex", shutil.which("pdflatex") is not None, "pdflatex is not installed")
    with pytest.raises(BadImage, match="cannot draw it"):
        compile_tikz(rf"\documentclass{{article}}\begin{{document}}a {hostile} b\end{{document}}")
    assert not Path("/tmp/limner-tex-test").exists()


FLOODS = (
    r"\iffalse ", r"\iftrue a\else ", r"\begin{comment}", r"\cite[", r"\begin{figure}", r"\includegraphics[",
    r"\begin{verbatim}", r"\section{", r"\def\a{", r"\b{", r"\usepackage[", r"\caption{",
)  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS)
def test_floods_are_read_in_linear_time(flood: str) -> None:
    """Four times as much text takes about four times as long, not sixteen times."""

    def seconds(times: int) -> float:
        began = time.process_time()
        text = without_comments(flood * times)
        strip_latex(text)
        sources._packages(text, {})
        sections(text)
        rank_figures(rf"\begin{{figure}}{text}\end{{figure}}", "", [], RULES.figures, text)
        expand_macros(FlatPaper(r"\newcommand{\b}[9]{#1}", text, "main.tex"))
        return time.process_time() - began

    assert seconds(16_000) < 0.2 + 8 * seconds(4_000)
    assert seconds(16_000) < 2.0


def test_conditions_are_resolved_at_any_depth() -> None:
    text = r"a\iffalse b\ifx c\else d\fi\else e\iftrue f\else g\fi\fi h\iffalse i"
    assert without_comments(text) == r"a e f h\iffalse i"


def test_archive_with_large_header_is_refused(tmp_path: Path) -> None:
    """A name of gigabytes would be read into memory before the file it belongs to."""
    member = tarfile.TarInfo("name")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 2**31
    paper = tmp_path / "paper.tar.gz"
    paper.write_bytes(gzip.compress(member.tobuf() + bytes(2**20)))
    with pytest.raises(DataError, match="a header of 2,147,483,648 bytes; the limit is 1,048,576"):
        read_source(paper, "paper")
