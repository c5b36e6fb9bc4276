"""Stand-ins for clones of the releases: files of their shape, in words of our own."""

from __future__ import annotations

from pathlib import Path

GENEXAM = '''import os

prompt_for_eval = """
Mark the first picture; the second one shows how it can be done.

Answer so, and with nothing else:
{{
    "answers": [{{"reasoning": "...", "answer": 1}}],
    "global_evaluation": {{"Spelling": {{"reasoning": "...", "score": 0}}}}
}}

Task: {prompt}
Questions:
{scoring_points}
"""
'''
MMMG = """instruction_prompt = '''
Describe it. Then say of each {of these} whether the picture has it:
[ELEM_DEPEND]

*   [ELEMENT_1]: [yes/no]
'''"""
AIBENCH = """import numpy as np
from .eval_client import EvalClient


class EvalPrompts:
    def __init__(self):
        self.visual_qa_system_prompt = "You answer questions."
        self.visual_qa_user_prompt = (
            "Asked: {}\\nChoices:\\n{}\\n\\nSay which, by its letter."
        )


class EvalStage:
    def __init__(self, cfg):
        self.prompts = EvalPrompts()
"""
AIBENCH_DRAWING = """# Settings of drawing.
data:
  prompts_file: "data/AIBench.jsonl"
  text_prompt_template: "Picture the \\"method\\" below.\\n {method_text}"
image_gen:
  provider: "wan2.6"
  wan_2_6:
    - api_key: !env API_KEY_1
"""
FILES = {
    "genexam": ("eval_prompt.py", GENEXAM),
    "mmmg": ("mmmg_eval/utils/instruction_prompt.py", MMMG),
    "aibench": ("eval/eval_stage.py", AIBENCH),
}


def clone(folder: Path, exam: str, text: str | None = None) -> Path:
    """Write an exam's stand-in, or another text in its place, and return the clone's folder."""
    file, usual = FILES[exam]
    path = folder / exam / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(usual if text is None else text, "utf-8")
    if exam == "aibench":
        drawing = folder / exam / "infer" / "configs" / "example.yaml"
        drawing.parent.mkdir(parents=True, exist_ok=True)
        drawing.write_text(AIBENCH_DRAWING, "utf-8")
    return folder / exam
