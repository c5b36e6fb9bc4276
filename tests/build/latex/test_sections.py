"""Which section is the method section, and which words occur in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import limner
from limner.build.latex.figures import candidates
from limner.build.latex.plain import absent_terms, occurs, plain, spoken
from limner.build.latex.sections import method_section, sections
from limner.build.paper_rules import read_rules

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
        (("Introduction", "Model", "Proposed Method", "Results"), "Proposed Method", "its heading"),
        (("Introduction", "Related Work", "\\textsc{Tide}", "Experiments"), "Tide", "where it stands"),
        (("Introduction", "Preliminaries", "Tide", "Evaluation", "Related Work"), "Tide", "where it stands"),
        (("1. METHODOLOGY",), "1. METHODOLOGY", "its heading"),
    ],
)
def test_rules_find_it(titles: tuple[str, ...], chosen: str, by: str) -> None:
    found = method_section(sections(document(*titles)), RULES.method)
    assert found is not None
    assert (found[0].title, found[1]) == (chosen, by)


@pytest.mark.parametrize(
    "titles",
    [("Introduction", "Tide", "Flow", "Experiments"), ("Tide", "Flow"), (), ("Introduction", "Experimental Method"),
     ("Introduction", "Results")],
)  # fmt: skip
def test_else_a_model_is_asked(titles: tuple[str, ...]) -> None:
    assert method_section(sections(document(*titles)), RULES.method) is None


def test_a_section_of_that_name_that_says_nothing_is_not_taken() -> None:
    found = sections("\\section{Introduction}a\\section{Method} See the appendix.\\section{Experiments}b")
    assert method_section(found, RULES.method) is None


TEXT = r"""The \emph{Gauge Encoder} $E_g$ maps readings to $h_g = E_g(g_{1:T})$ by self-attention~\cite{Hidden Name}.
Poincar\'e maps; \textbf{Pre-training} with $\mathcal{L}_{\theta}$ and the Teacher Model (DAM).
\begin{figure}\caption{Figure Words}\end{figure}"""


@pytest.mark.parametrize(
    "term",
    ["Gauge Encoder", "gauge  encoder", "Gauge Encoder E_g", "$h_g$", "h_g", "Poincaré maps", "Self attention",
     "Step 1: Pre-training", "Phase II – Pre-training", "Teacher Model (DAM)", "Gauge Encoder ($E_g$)",
     r"\mathcal{L}_\theta"],
)  # fmt: skip
def test_terms_that_occur(term: str) -> None:
    assert occurs(term, TEXT)


@pytest.mark.parametrize(
    "term",
    ["Radar Encoder", "auge Enc", "Gauge Encoders", "Gauge Encoder (GX)", "Hidden Name", "Figure Words",
     "Encoder Gauge", "Challenger Model", "Step 1: Fine-tuning"],
)  # fmt: skip
def test_terms_that_do_not(term: str) -> None:
    assert absent_terms([term, "Gauge Encoder"], TEXT) == [term]


def test_broken_latex_is_still_words() -> None:
    assert "word" in plain("\\begin{broken} word \\end{other} }}{")


def test_words_of_file_names() -> None:
    assert spoken("figs/OurMethod_v2-Overview.pdf") == "figs our method v 2 overview pdf"


def test_figures_are_ranked_and_found() -> None:
    method = r"""\section{Method}\begin{figure}\includegraphics[width=1cm]{pipeline}\caption{Overview of our method.}
\end{figure}\begin{figure}\begin{subfigure}\includegraphics{a.png}\caption{left}\end{subfigure}
\includegraphics{b.png}\caption{Two views of the framework}\end{figure}"""
    text = r"\begin{figure*}\includegraphics{img/results.eps}\caption{Qualitative comparison.}\end{figure*}" + method
    names = ["figs/pipeline.pdf", "figs/pipeline.png", "a.png", "img/results.eps"]
    found = candidates(text, method, names, RULES.figures, r"\graphicspath{{figs/}{more/}}")
    assert [one.file for one in found] == ["figs/pipeline.pdf", "a.png", "b.png", "img/results.eps"]
    assert found[0].caption == "Overview of our method."
    assert found[1].caption.startswith("Two views of the framework")
    assert found[2].why_not == "no such file in the source"
    assert "PDF are taken" in str(found[3].why_not)
    assert found[3].score < 0 < found[1].score < found[0].score
