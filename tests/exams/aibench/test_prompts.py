"""The wording: every fact of the protocol is in it, and the drawing prompts fit the two groups of painters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from limner.core import settings
from limner.core.asks import Text
from limner.core.latex_text import stripped
from limner.exams.aibench import AIBENCH
from limner.exams.aibench.data import ChoiceQuestion
from limner.exams.aibench.labels import ComponentName, asked, criterion, yes_letter
from limner.judges import make_variant
from tests.exams.aibench.rows import item, question, variant

PROTOCOL = AIBENCH.protocol
METHOD = r"""We~\cite{a,b} map $x$ to $z$. % not sure yet
% a whole line
It keeps 5\% of them.\\% end
\begin{figure*}[t]\centering
  \includegraphics[width=\linewidth]{a.pdf}
\end{figure*}
As \citet[see][]{c} say \citep*{d}, \includegraphics{b}."""


def solve(name: str) -> str:
    asks = PROTOCOL.asks(question(), "0" * 64, {}, variant(name))
    return "".join(part.text for part in asks[0].shown if isinstance(part, Text))


def test_own_wording(tmp_path: Path) -> None:
    (tmp_path / "solve.md").write_text("Q: {{question}}\n{{options}}", "utf-8")
    own = make_variant(AIBENCH, None, {}, tmp_path)
    ask = PROTOCOL.asks(question(), "0" * 64, {}, own)[0]
    assert ask.shown[1] == Text("Q: Is the 'Gate 1' component present?\nA. No\nB. Yes")


def test_closed_and_unknown_painters_get_the_short_instruction() -> None:
    closed = PROTOCOL.drawing_prompt(question(), "closed", {})
    assert closed == PROTOCOL.drawing_prompt(question(), None, {}) == PROTOCOL.drawing_prompt(question(), "other", {})
    instruction, _, method = closed.partition("\n\n")
    assert len(instruction.split()) < 20
    assert "framework figure" in instruction
    assert method.strip() == question().prompt


def test_open_painters_get_the_longer_one() -> None:
    text = PROTOCOL.drawing_prompt(question(), "open", {})
    for fact in ("architecture diagram", "feature maps", "layers", "blocks", "flowchart of bare boxes",
                 "do not just print the text", "clean style of vector graphics"):  # fmt: skip
        assert fact in text
    assert text.strip().endswith(question().prompt)


def test_method_texts_are_sent_as_they_are_unless_stripped() -> None:
    asked_for = replace(question(), prompt=METHOD)
    assert METHOD in PROTOCOL.drawing_prompt(asked_for, "open", {"latex": "keep"})
    stripped = PROTOCOL.drawing_prompt(asked_for, "open", {"latex": "strip"})
    assert r"\cite" not in stripped
    assert METHOD not in stripped


def test_stripping() -> None:
    assert stripped(METHOD) == "We map $x$ to $z$. \nIt keeps 5\\% of them.\\\\\nAs say, ."
    assert stripped(stripped(METHOD)) == stripped(METHOD)
    assert stripped(r"\begin{figure} never ends") == r"\begin{figure} never ends"
    plain = "Nothing\n\nto take out: \\emph{a} {{b}} $c_1$."
    assert stripped(plain) == plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is the 'Gate' component present?", ComponentName("Gate", ())),
        ('Is there a component named "Memory Bank" in the diagram?', ComponentName("Memory Bank", ())),
        ("Does the diagram depict the 'Teacher Model (TM)' component?", ComponentName("Teacher Model", ("TM",))),
        (
            "Does the figure show the 'Guide' module (by its name, an abbreviation like GD, or 'Helper Net')?",
            ComponentName("Guide", ("Helper Net", "GD")),
        ),
        ("Does the diagram show the model’s ‘Depth Head’?", None),
        ("Is the 'Gate' missing from the diagram?", None),
        ("Is the 'Gate' joined to the 'Sum'?", None),
        ("Is the 'Gate' shown in red?", None),
        ("Is there a gate?", None),
        ("(as in 'Gate') Is the component present?", None),
    ],
)
def test_the_name_that_is_asked_for(text: str, found: ComponentName | None) -> None:
    assert asked(text) == found


def test_which_letter_says_yes() -> None:
    def made(options: dict[str, str], right: str = "A") -> ChoiceQuestion:
        return ChoiceQuestion.model_validate(item("component", 1, right, options=options))

    assert yes_letter(made({"A": "No", "B": "Yes"})) == "B"
    assert yes_letter(made({"A": "Yes, it is", "B": "No, it is not"})) == "A"
    assert yes_letter(made({"A": "Yes", "B": "Perhaps"})) is None
    assert yes_letter(made({"A": "Yes", "B": "No", "C": "Unclear"})) is None
    assert criterion(made({"A": "One", "B": "Two"})).kind == "choice"
    present = criterion(made({"A": "No", "B": "Yes"}, "B"))
    assert (present.kind, present.labels, present.present_means) == ("component", ("Gate 1",), 1)
    assert criterion(made({"A": "No", "B": "Yes"}, "A")).present_means == 0


def test_known_painters_draw_at_the_papers_least_size_by_themselves() -> None:
    for name, facts in settings.load().painters.items():
        size = facts.sizes.get("square")
        if facts.prompt_group and size and size[-1:].isdigit() and ":" not in size:
            shorter = min(map(int, size.replace("*", "x").split("x")))
            # Some services take an aspect with the same sign.
            assert shorter >= 1024 or shorter < 10, name
