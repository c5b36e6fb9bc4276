"""The expert's prompt in structured form; rules and another model check that nothing is added, dropped or changed."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..figures import moved_atoms, rewordings, sure_rewordings
from ..replies import read_choice, read_object, read_text_field

SECTIONS = ("Layout", "Objects", "Text", "Relations")
KINDS = ("added", "dropped", "changed")


class StructuredPromptSettings(StrictModel):
    """The settings of structured prompts.

    Attributes:
        tries: The number of rewrites after the checker finds a difference; then the figure is dropped.
    """

    tries: int = Field(default=2, ge=0, le=10)


async def structured_prompt(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write the structured form of a prompt, and a checker compare the two."""
    free = item.body["free_prompt"]

    def read(reply: str) -> str:
        sections = read_object(loads(reply), "prompt")
        if unknown := sorted(map(str, sections.keys() - set(SECTIONS))):
            raise Unreadable(f'"prompt" has {unknown[0]!r}; its parts are {", ".join(SECTIONS)}')
        answer = "\n".join(f"{name}: {read_text_field(sections, name)}" for name in SECTIONS if sections.get(name))
        if not answer:
            raise Unreadable(f'"prompt" must have {", ".join(SECTIONS)}')
        if wrong := sure_rewordings(free, answer):
            raise Unreadable("; ".join(map(str, wrong[:6])))
        return answer

    objections = ""
    for attempt in range(context.settings.tries + 1):
        words = context.prompts.fill("structured-prompt", prompt=free, objections=objections or "- (none)")
        structured = await context.ask("annotator", item, [Text(words)], Contract(read), name=f"write{attempt}")
        seen = [*rewordings(free, structured), *moved_atoms(item.body, free, structured)]
        differences = await _differences(item, context, structured, [str(reworded) for reworded in seen], attempt)
        if not differences:
            return item.having(structured_prompt=structured, looked_at=[str(reworded) for reworded in seen])
        objections = "\n".join(f"- {reworded}" for reworded in differences)
    raise Dropped("structured prompt says something else", "; ".join(differences[:4]))


async def _differences(
    item: BuildItem, context: StepContext, structured: str, seen: list[str], attempt: int
) -> list[str]:
    """Return the differences that the checker confirms; it is shown those that rules have found."""

    def read(reply: str) -> list[str]:
        answer = loads(reply).get("differences")
        if not isinstance(answer, list) or not all(isinstance(each, dict) for each in answer):
            raise Unreadable('"differences" must be a list of objects; an empty one where there is none')
        return [f"{read_choice(each, 'kind', KINDS)}: {read_text_field(each, 'what')}" for each in answer]

    words = context.prompts.fill(
        "same-content", free=item.body["free_prompt"], structured=structured,
        seen="\n".join(f"- {each}" for each in seen) or "- (nothing)",
    )  # fmt: skip
    return await context.ask("checker", item, [Text(words)], Contract(read), name=f"check{attempt}")


STEP = BuildStep(
    "structured-prompt", "orders the expert's prompt, and checks that it says the same", StructuredPromptSettings,
    ("annotator", "checker"), ("structured-prompt", "same-content"), ("free_prompt", "visual", "text", "relation"),
    each=structured_prompt, use=(Use("annotator", 700, 400), Use("checker", 900, 150)),
)  # fmt: skip
