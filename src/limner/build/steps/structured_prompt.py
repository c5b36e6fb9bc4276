"""The expert's prompt in ordered form; rules and another model check that nothing is added, dropped or changed."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, Use
from ..figures import moved, rewordings, sure_rewordings
from ..replies import a_text, a_word, an_object

SECTIONS = ("Layout", "Objects", "Text", "Relations")
KINDS = ("added", "dropped", "changed")


class StructuredPromptSettings(StrictModel):
    """How often it is tried.

    Attributes:
        tries: How often it is written anew when the checker finds a difference; then the figure is dropped.
    """

    tries: int = Field(default=2, ge=0, le=10)


async def structured_prompt(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    free = item.body["free_prompt"]

    def read(reply: str) -> str:
        sections = an_object(loads(reply), "prompt")
        if unknown := sorted(map(str, sections.keys() - set(SECTIONS))):
            raise Unreadable(f'"prompt" has {unknown[0]!r}; its parts are {", ".join(SECTIONS)}')
        found = "\n".join(f"{name}: {a_text(sections, name)}" for name in SECTIONS if sections.get(name))
        if not found:
            raise Unreadable(f'"prompt" must have {", ".join(SECTIONS)}')
        if wrong := sure_rewordings(free, found):
            raise Unreadable("; ".join(map(str, wrong[:6])))
        return found

    objections = ""
    for attempt in range(bench.settings.tries + 1):
        words = bench.prompts.fill("structured-prompt", prompt=free, objections=objections or "- (none)")
        structured = await bench.ask("annotator", item, [Text(words)], Contract(read), name=f"write{attempt}")
        seen = [*rewordings(free, structured), *moved(item.body, free, structured)]
        differences = await _differences(item, bench, structured, [str(one) for one in seen], attempt)
        if not differences:
            return item.having(structured_prompt=structured, looked_at=[str(one) for one in seen])
        objections = "\n".join(f"- {one}" for one in differences)
    raise Dropped("structured prompt says something else", "; ".join(differences[:4]))


async def _differences(item: BuildItem, bench: Bench, structured: str, seen: list[str], attempt: int) -> list[str]:
    """Return what the checker finds to differ; what rules have seen is told, for it to decide."""

    def read(reply: str) -> list[str]:
        found = loads(reply).get("differences")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise Unreadable('"differences" must be a list of objects; an empty one where there is none')
        return [f"{a_word(one, 'kind', KINDS)}: {a_text(one, 'what')}" for one in found]

    words = bench.prompts.fill(
        "same-content", free=item.body["free_prompt"], structured=structured,
        seen="\n".join(f"- {one}" for one in seen) or "- (nothing)",
    )  # fmt: skip
    return await bench.ask("checker", item, [Text(words)], Contract(read), name=f"check{attempt}")


STEP = BuildStep(
    "structured-prompt", "orders the expert's prompt, and checks that it says the same", StructuredPromptSettings,
    ("annotator", "checker"), ("structured-prompt", "same-content"), ("free_prompt", "visual", "text", "relation"),
    each=structured_prompt, use=(Use("annotator", 700, 400), Use("checker", 900, 150)),
)  # fmt: skip
