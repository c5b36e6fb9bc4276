"""Services for whole runs, started once per test process, and the command line within it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.shop import BilledChat, BilledImages
from tests.fakes.gemini_client import GeminiServer
from tests.fakes.jobs_client import JobServer


@pytest.fixture(scope="session")
def chat_with_bills() -> Iterator[BilledChat]:
    with BilledChat(keep=20_000) as server:
        yield server


@pytest.fixture(scope="session")
def images_with_bills() -> Iterator[BilledImages]:
    with BilledImages(keep=20_000) as server:
        yield server


@pytest.fixture(scope="session")
def gemini_service() -> Iterator[GeminiServer]:
    with GeminiServer(keep=20_000) as server:
        yield server


@pytest.fixture(scope="session")
def job_service() -> Iterator[JobServer]:
    with JobServer(keep=20_000) as server:
        yield server


@pytest.fixture
def judge(chat_with_bills: BilledChat) -> BilledChat:
    """The judge's service with all counts at nought."""
    chat_with_bills.reset()
    return chat_with_bills


@pytest.fixture
def painting(images_with_bills: BilledImages) -> BilledImages:
    """The image service with all counts at nought."""
    images_with_bills.reset()
    return images_with_bills


@pytest.fixture
def gemini(gemini_service: GeminiServer) -> GeminiServer:
    """The Gemini service with all counts at nought."""
    gemini_service.reset()
    return gemini_service


@pytest.fixture
def jobs(job_service: JobServer) -> JobServer:
    """The services that draw by jobs, with all counts at nought."""
    job_service.reset()
    return job_service


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder for commands inside this process, which do not wait between their tries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
    return tmp_path
