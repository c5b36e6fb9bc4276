"""What tests of batches share: settings that know the fake services, and the command line in this very process."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from limner.cli import limner
from limner.core.errors import LimnerError
from limner.store import Store
from limner.store.schema import attempts, batches, calls
from tests.fakes.batches import BatchServer
from tests.support import SmallExam, write_exam

JUDGE, PAINTER, GEMINI, DRAWER = "fake/judge", "fake/gpt-image-1", "google/gemini-3.8-flash", "google/gemini-image"
CLAUDE = "claude/judge"
SETTINGS = """
[providers.fake]
base_url = "{openai}"
timeout_s = 30
image_shape = "openai-images"
[providers.fake.batch]
shape = "openai"
share = 0.5
{limits}
[providers.google]
base_url = "{gemini}/openai"
image_url = "{gemini}"
image_shape = "gemini"
seeds = true
[providers.google.batch]
shape = "gemini"
share = 0.5
{limits}
[providers.claude]
base_url = "{openai}"
shape = "anthropic"
key_env = "FAKE_API_KEY"
structured = "json_schema"
[providers.claude.batch]
shape = "anthropic"
share = 0.5
{limits}
[providers.plain]
base_url = "{openai}"
key_env = "FAKE_API_KEY"
image_shape = "openai-images"
{models}
"""
MODEL = """
[models."{name}"]
input_price = 2.0
output_price = 8.0
max_output_tokens = 4000
[painters."{name}"]
image_price = 0.04
"""
LIMITS = {"calls": 50_000, "bytes": 200_000_000, "poll_s": 0.02, "doubt_s": 0.1, "window_s": 86_400}


@dataclass
class Place:
    """A working folder with an exam, settings and a store, which is a folder in it unless another URL is given."""

    root: Path
    exam: SmallExam
    server: BatchServer
    store: str = "store"

    def open_store(self) -> Store:
        """The store, wherever one is."""
        return Store(self.store if "://" in self.store else self.root / self.store)

    def configure(self, **limits: Any) -> None:
        """Write the settings, with other limits than the usual ones."""
        told = "\n".join(f"{name} = {value}" for name, value in (LIMITS | limits).items())
        names = (JUDGE, PAINTER, GEMINI, DRAWER, CLAUDE, "plain/judge")
        models = "".join(MODEL.format(name=name) for name in names)
        words = SETTINGS.format(openai=self.server.base_url, gemini=self.server.gemini_url, limits=told, models=models)
        (self.root / "limner.toml").write_text(words, "utf-8")

    def words(self, *more: str, judge: str | None = JUDGE, painter: str | None = None) -> list[str]:
        """A command that draws by a painter, or takes the folder's drawings, and marks by a judge, with batches."""
        drawn = painter or f"mine=folder/{self.exam.drawings}"
        command = "run" if judge else "draw"
        words = [command, "genexam", "--data", str(self.exam.data), "--painter", drawn]
        words += ["--store", self.store, "--format=json"]
        return [*words, *(["--judge", judge] if judge else []), "--batch", *more]

    def run(self, *more: str, **who: str | None) -> tuple[int, dict[str, Any], str]:
        """Exit code, the closing JSON, and standard error of such a command."""
        code, out, err = self.limner(self.words(*more, **who))
        return code, json.loads(out.splitlines()[-1]) if out.strip() else {}, err

    def limner(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Exit code, standard output and error of any command."""
        before = Path.cwd()
        os.chdir(self.root)
        try:
            done = CliRunner().invoke(limner, list(words))
        finally:
            os.chdir(before)
        if isinstance(done.exception, LimnerError):
            return done.exception.exit_code, done.stdout, str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    def rows(self, table: str) -> list[Any]:
        """The rows of a table of the store."""
        with self.open_store() as store, store.reading() as connection:
            chosen = {"calls": calls, "attempts": attempts, "batches": batches}[table]
            return list(connection.execute(chosen.select()).all())


def make_place(root: Path, server: BatchServer, questions: int = 6, store: str = "store", **limits: Any) -> Place:
    """A new place."""
    place = Place(root, write_exam(root, questions), server, store)
    place.configure(**limits)
    return place


def paid_once(server: BatchServer, calls_: int) -> None:
    """Every call was handed in once and paid once, and none was made at the full price."""
    bill = server.bill()
    assert set(bill["paid"].values()) == {1}
    assert (len(bill["paid"]), len(bill["asked"])) == (calls_, calls_)
    assert "at once" not in bill["paid"]
