"""Items from the prompts of topics: each becomes a separate item, and repeated ones are dropped."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence

from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..wording import WORD

KEPT = ("domain", "continent", "discipline")


async def prompt_items(
    items: Sequence[BuildItem], context: StepContext
) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every written prompt."""
    ids: dict[str, str] = {}
    for topic in items:
        if topic.sort != "topic":
            continue
        code = re.sub(r"[^A-Za-z0-9-]+", "_", topic.body["code"])
        about = {name: topic.body[name] for name in KEPT if topic.body.get(name)}
        if topic.body.get("continent"):
            about["country"] = topic.body["name"]
        for n, prompt in enumerate(topic.body["prompts"], 1):
            id, plain = f"{code}_{n}", " ".join(WORD.findall(prompt.casefold()))
            if plain in ids:
                yield id, Dropped("repeated prompt", f"the same as {ids[plain]}")
                continue
            ids[plain] = id
            yield BuildItem(id, {"prompt": prompt, **about}, "prompt")


STEP = BuildStep("prompt-items", "takes each prompt by itself", takes="prompt", makes="prompt", source=prompt_items)
