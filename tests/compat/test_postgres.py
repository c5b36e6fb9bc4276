"""The same store in PostgreSQL, as version 0.1 left it there."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.compat import runs
from tests.compat.goldens import GOLDENS, QUICK
from tests.compat.test_goldens import check
from tests.compat.test_resume import FINISHED, KILLED, NOTHING
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer

pytestmark = pytest.mark.slow


@pytest.fixture
def restored(postgres: str, to_run: Path) -> str:
    """The URL of a database made from the dump, its images beside it."""
    import psycopg

    url = make_url(postgres).difference_update_query(["blobs"])
    with psycopg.connect(url.render_as_string(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS kept")
        connection.execute("CREATE DATABASE kept")
    url = url.set(database="kept")
    with psycopg.connect(url.render_as_string()) as connection:
        connection.execute(gzip.decompress((runs.V1 / "store.sql.gz").read_bytes()))
    return url.update_query_dict({"blobs": str(to_run / runs.STORE / "blobs")}).render_as_string()


def test_outputs_are_as_they_were(restored: str) -> None:
    for folder in QUICK:
        check(folder, [golden for golden in GOLDENS if golden.folder == folder], restored, stale=False)


def test_runs_are_taken_up(restored: str, studio: StudioServer, easel: ImageServer) -> None:
    for run in FINISHED:
        assert runs.take_up(run, studio, easel, restored)["requests"] == NOTHING, run.name
    found = runs.take_up(KILLED, studio, easel, restored)
    assert (found["code"], found["requests"]) == (0, {"studio": 9, "easel": 0})
    assert runs.take_up(KILLED, studio, easel, restored)["requests"] == NOTHING
