"""The scorers of the releases, run from clones of their repositories on replies of ours, without a network or a GPU.

Nothing of a release is in this repository: what a scorer imports beyond the standard library, numpy and pandas is
replaced, and the judge answers from a table.
"""

from __future__ import annotations

import importlib.util
import io
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from PIL import Image

from tests.needs import need

VARIABLE = "LIMNER_RELEASES"
Answer = Callable[..., str]


def clone(repository: str) -> Path:
    """The folder of a clone, called as its repository is; the test is skipped without it."""
    folder = Path(os.environ.get(VARIABLE, "none")) / repository
    need("releases", folder.is_dir(), f"{VARIABLE} names no folder with a clone of {repository}")
    return folder


def dot() -> bytes:
    """A picture of one point."""
    stream = io.BytesIO()
    Image.new("RGB", (1, 1), "white").save(stream, "PNG")
    return stream.getvalue()


def write_pictures(folder: Path, names: Sequence[str]) -> None:
    """Write a picture under each of these paths."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(dot())


@contextmanager
def loaded(path: Path, **stubs: Any) -> Iterator[Any]:
    """The module in a file, with other modules replaced, without warnings, and none of it kept."""
    known = set(sys.modules)
    modules = {name.replace("__", "."): stub for name, stub in stubs.items()}
    arguments = mock.patch.object(sys, "argv", [path.name])
    places = mock.patch.object(sys, "path", [str(path.parent), *sys.path])
    with arguments, places, mock.patch.dict(sys.modules, modules), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = importlib.util.spec_from_file_location(f"release_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(path.parent)):
            del sys.modules[name]


def module(**members: Any) -> ModuleType:
    """A stand-in for a module."""
    stub = ModuleType("stub")
    vars(stub).update(members)
    return stub


def chat(reply: Callable[[Sequence[Mapping[str, Any]]], str]) -> ModuleType:
    """A stand-in for the package openai, whose model replies by the messages."""

    def create(messages: Sequence[Mapping[str, Any]], **_: Any) -> Any:
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=reply(messages)))])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    return module(OpenAI=lambda **_: client)


class Exact(float):
    """A number that is printed whole, whatever the format asks for."""

    def _made(self, value: float) -> Exact:
        return Exact(value)

    def __add__(self, other: float) -> Exact:
        return Exact(float(self) + other)

    __radd__ = __add__

    def __mul__(self, other: float) -> Exact:
        return Exact(float(self) * other)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> Exact:
        return Exact(float(self) / other)

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def wise(replies: Mapping[int, str], capsys: pytest.CaptureFixture[str], folder: Path) -> dict[str, float]:
    """WISE's category means and overall score."""
    root = clone("WISE")
    with loaded(root / "vllm_eval.py", requests=module()) as judge:
        rows = [{"prompt_id": id, "score": judge.extract_scores(text)["score"]} for id, text in replies.items()]
    (folder / "scores.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    with loaded(root / "calculate_verified.py") as scorer:
        scorer.calculate_wiscore = lambda score: Exact(score)
        with mock.patch.object(sys, "argv", ["x", str(folder / "scores.jsonl"), "--category", "all"]):
            scorer.main()
    *_, names, numbers = capsys.readouterr().out.strip().splitlines()
    return dict(zip(names.split(), map(float, numbers.split()), strict=True))


def corebench(folder: Path, tasks: Sequence[str], answer: Answer) -> dict[str, Any]:
    """T2I-CoReBench's result of each dimension; pictures lie in ``logs/m/TASK``, data in ``data``."""

    def generate(model: str, contents: Sequence[Any], config: Any) -> Any:
        prompt, question = contents[1].rsplit('\nPrompt: "', 1)[1].rsplit('"\nQuestion: "', 1)
        return SimpleNamespace(text=answer(prompt, question.removesuffix('"')))

    client = SimpleNamespace(models=SimpleNamespace(generate_content=generate))
    types = module(
        HttpOptions=dict, GenerateContentConfig=dict, Part=SimpleNamespace(from_bytes=lambda data, mime_type: data)
    )
    genai = module(Client=lambda **_: client, types=types)
    stubs: dict[str, Any] = {
        "torch": module(), "torch__utils": module(), "torch__utils__data": module(Dataset=object),
        "transformers": module(AutoProcessor=None), "vllm": module(LLM=None, SamplingParams=None),
        "sample": module(seed_everything=None), "google": module(genai=genai), "google__genai": genai,
        "google__genai__types": types,
    }  # fmt: skip
    with loaded(clone("T2I-CoReBench") / "evaluate.py", **stubs) as scorer:
        given = SimpleNamespace(
            model="m", gen_eval_file=",".join(tasks), output_path="logs", mllm="Gemini_2_5_Flash", update=False
        )
        scorer.start_evaluation_gemini(given, ["judge", "key"])
    return {task: json.loads((folder / "logs" / "m" / f"{task}-Gemini_2_5_Flash.json").read_text()) for task in tasks}


KRIS_SCRIPTS = {
    "metrics_common": ("run_evaluation", "evaluate_images"),
    "metrics_knowledge": ("run_evaluation", "evaluate_images"),
    "metrics_view_change": ("run_evaluation", "evaluate_images"),
    "metrics_multi_element": ("run_multi_element_evaluation", "evaluate_multi_element_images"),
    "metrics_temporal_prediction": ("run_temporal_evaluation", "evaluate_temporal_images"),
}


def krisbench(answer: Answer) -> None:
    """Run KRIS-Bench's five scripts on ``KRIS_Bench`` and ``results/m`` in the current folder."""
    root, current = clone("Kris_Bench"), [("", "")]

    def reply(messages: Sequence[Mapping[str, Any]]) -> str:
        text = messages[0]["content"][0]["text"]
        kinds = [name for name in ("knowledge", "instruction", "quality", "consistency") if f"{name}_score" in text]
        return answer("/".join(current[0]), kinds[0])

    logging.disable(logging.CRITICAL)
    try:
        for script, (run, evaluate) in KRIS_SCRIPTS.items():
            with loaded(root / f"{script}.py", openai=chat(reply), tqdm=module(tqdm=lambda each, **_: each)) as scorer:
                inner = getattr(scorer, evaluate)

                def noted(model: str, category: str, id: str, *rest: Any, inner: Callable[..., Any] = inner) -> Any:
                    current[0] = category, id
                    return inner(model, category, id, *rest)

                setattr(scorer, evaluate, noted)
                getattr(scorer, run)(models=["m"], max_workers=1)
    finally:
        logging.disable(logging.NOTSET)


def kris_summary(results: Path) -> Any:
    """The summary that BAGEL's repository makes of such results."""
    with loaded(clone("Bagel") / "eval" / "gen" / "kris" / "summarize.py") as scorer:
        return scorer.summarize_benchmark_scores_with_normalization(str(results))


def risebench(folder: Path, data: Path, answer: Answer, revision: str | None = None) -> dict[str, dict[str, float]]:
    """RISEBench's table, by the code of a revision or the clone's own."""
    import pandas as pd

    root, current, calls = clone("RISEBench"), [""], [0]
    code = folder / f"scorer-{revision}"
    code.mkdir()
    for name in ("gpt_eval.py", "utils.py"):
        text = (root / name).read_text("utf-8")
        if revision is not None and name == "gpt_eval.py":
            shown = subprocess.run(["git", "-C", root, "show", f"{revision}:{name}"], capture_output=True, check=False)
            need("releases", shown.returncode == 0, f"the clone of RISEBench has no revision {revision}")
            text = shown.stdout.decode()
        (code / name).write_text(text, "utf-8")
    output = folder / "outputs" / f"m-{revision}"
    output.mkdir(parents=True)
    quiet = module(tqdm=lambda **_: SimpleNamespace(update=lambda _: None, close=lambda: None))
    with loaded(code / "gpt_eval.py", requests=module(), tqdm=quiet) as scorer:
        evaluate, dump = scorer.eval_vanilla, scorer.dump

        def noted(item: Any, **more: Any) -> Any:
            flag = item.get("consistency_free")
            current[0], calls[0] = item["index"], int(flag is not None and not pd.isna(flag))
            return evaluate(item, **more)

        def generate(message: Any, **_: Any) -> tuple[int, str, None]:
            calls[0] += 1
            return 0, answer(current[0], ("appearance", "outcome", "plausibility")[calls[0] - 1]), None

        scorer.eval_vanilla, scorer.gpt_generate = noted, generate
        scorer.find_image, scorer.print = lambda *_: "x", lambda *_: None
        scorer.dump = lambda value, path, **more: (
            value.to_csv(output / "m_replies.csv", index=False) if path.endswith("xlsx") else dump(value, path, **more)
        )
        words = ["x", "--data", str(data), "--output", str(output), "--nproc", "1"]
        with mock.patch.object(sys, "argv", words):
            scorer.main()
    table = pd.read_csv(output / f"{output.name}_judge.csv", index_col=0)
    return {str(name): dict(row) for name, row in table.iterrows()}


def grade(folder: Path, answer: Answer) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """GRADE's results of each question and of each domain; ``result.json`` is in the folder."""
    root, current = clone("GRADE"), [""]
    for script, run, made in (
        ("reasoning", "reasoning_eval", "gemini_flash_eval_1"),
        ("consis", "consis_eval", "gemini_flash_consis_4"),
        ("read", "read_eval", "gemini_flash_read_4"),
    ):

        def reply(_: Any, script: str = script) -> str:
            return answer(current[0], script)

        stubs: dict[str, Any] = {
            "openai": chat(reply), "simplejson": json, "tqdm": module(tqdm=None), "tqdm__contrib": module(),
            "tqdm__contrib__concurrent": module(process_map=None),
        }  # fmt: skip
        with loaded(root / f"{script}.py", **stubs) as scorer:
            evaluate = scorer.eval_one

            def noted(given: Any, evaluate: Callable[[Any], None] = evaluate) -> None:
                current[0] = given[0]["task_id"]
                evaluate(given)

            scorer.eval_one, scorer.print = noted, lambda *_: None
            scorer.process_map = lambda function, each, **_: [function(one) for one in each]
            scorer.ProcessPoolExecutor = lambda **_: nullcontext()
            getattr(scorer, run)(str(folder / "result.json"), ["judge", "gemini_flash"], [], {"url": "", "key": ""}, 1)
        rows = [json.loads(path.read_text()) for path in sorted((folder / made).glob("*.json"))]
        (folder / f"{made}.json").write_text(json.dumps(rows), "utf-8")
    with loaded(root / "sum.py") as scorer:
        scorer.round, scorer.print = lambda number, ndigits: number, lambda *_: None
        scorer.score_sum(str(folder))
    full, domains = (folder / name for name in ("full_result_gemini_flash.json", "domain_score.json"))
    return json.loads(full.read_text()), json.loads(domains.read_text())
