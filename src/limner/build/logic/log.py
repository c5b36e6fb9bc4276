"""The execution log of a method: what each part does, takes in, puts out, and where the flow goes next."""

from __future__ import annotations

from pydantic import Field, ValidationError

from ...core.asks import Unreadable
from ...core.json_text import loads
from ...core.schema import FrozenModel, Words, first_wrong
from ..latex.plain import TOLD, folded, has, require_terms
from .rules import LogRules


class LogStep(FrozenModel):
    """One step of a method."""

    name: Words = Field(min_length=1)
    action: Words = Field(min_length=1)
    input: tuple[Words, ...] = ()
    output: tuple[Words, ...] = ()
    next_logic: Words = ""


class ExecutionLog(FrozenModel):
    """A method, step by step."""

    steps: tuple[LogStep, ...] = Field(min_length=2, max_length=60)

    def text(self) -> str:
        """The log as it is handed on."""
        lines = []
        for n, step in enumerate(self.steps, 1):
            lines += [
                f"Step {n}: {step.name}",
                f"- Action: {step.action}",
                f"- Input: {'; '.join(step.input) or 'none'}",
                f"- Output: {'; '.join(step.output) or 'none'}",
                f"- Next Logic: {step.next_logic or 'end'}",
            ]
        return "\n".join(lines)


def parse_log(text: str, method: str, rules: LogRules) -> ExecutionLog:
    """The execution log in a model's reply, in the method text's own terms.

    Raises:
        Unreadable: It is none, names what the text does not, or compares, praises or tells of libraries.
    """
    try:
        log = ExecutionLog.model_validate(loads(text))
    except ValidationError as error:
        raise Unreadable(f"the log does not fit: {first_wrong(error)}") from error
    terms = [term for step in log.steps for term in (step.name, *step.input, *step.output)]
    require_terms(terms, method)
    said = folded(" ".join(f"{step.action} {step.next_logic}" for step in log.steps))
    if banned := [words for words in rules.banned if has(folded(words), said)]:
        raise Unreadable(f"a log has no comparisons, praise or libraries: leave out {', '.join(banned[:TOLD])}")
    return log
