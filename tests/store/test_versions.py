"""A new store is made whole, by several processes at once too; a store of another version is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.core.errors import StoreError
from limner.store import Store, store_exists
from limner.store.schema import VERSION, meta, metadata
from tests.store.openers import killed, race, set_version
from tests.store.places import NO_BUCKET, PLACES, fresh_place


@pytest.mark.parametrize("kind", PLACES[:2])
def test_a_store_of_another_version_is_refused_and_left_alone(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = fresh_place(request, kind, tmp_path, "other_version")
    set_version(url, str(VERSION + 1))
    sentence = (
        rf"the store .* has version {VERSION + 1}, and this Limner reads only version {VERSION}: "
        "use the Limner that made it, or name another --store$"
    )
    for opened in (Store, store_exists):
        with pytest.raises(StoreError, match=sentence):
            opened(url)
    engine = sa.create_engine(_database(url))
    with engine.begin() as connection:
        assert connection.execute(sa.select(meta)).all() == [("version", str(VERSION + 1))]
        connection.execute(meta.update().values(value=str(VERSION)))
    engine.dispose()
    assert store_exists(url)


def _database(url: str) -> str:
    if "://" not in url:
        return f"sqlite:///{url}/limner.db"
    return url.partition("&blobs")[0].replace("postgresql:", "postgresql+psycopg:")


@pytest.mark.parametrize("version", ["0", "seven", ""])
def test_a_version_that_no_limner_wrote_is_refused_too(tmp_path: Path, version: str) -> None:
    set_version(str(tmp_path), version)
    with pytest.raises(StoreError, match=f"has version {version}, and this Limner reads only version"):
        Store(tmp_path)


@NO_BUCKET
def test_whether_a_store_is_there(store: Store) -> None:
    assert store_exists(store.url)


def test_looking_for_a_store_makes_none(tmp_path: Path) -> None:
    assert not store_exists(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "postgres"])
def test_several_processes_may_make_one_store_at_once(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    urls = [str(tmp_path / str(n)) for n in range(25)]
    if kind == "postgres":
        urls = _new_databases(request.getfixturevalue("postgres"), "made", 6)
    assert race(urls) == ("", "")
    assert all(map(store_exists, urls))


def _new_databases(postgres: str, name: str, count: int) -> list[str]:
    """Return the URLs of so many new databases."""
    engine = sa.create_engine(_database(postgres))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for n in range(count):
            connection.exec_driver_sql(f"CREATE DATABASE {name}{n}")
    engine.dispose()
    return [postgres.replace("/postgres?", f"/{name}{n}?") for n in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "postgres"])
def test_killed_while_it_is_made_a_store_is_whole_or_not_there(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    steps = range(0, 120, 17)
    urls = [str(tmp_path / str(n)) for n in steps]
    if kind == "postgres":
        urls = _new_databases(request.getfixturevalue("postgres"), "killed", len(steps))
    ends = killed(zip(urls, steps, strict=True))
    assert {-9, 0} == set(ends)
    for url, end in zip(urls, ends, strict=True):
        assert store_exists(url) or end == -9
        with Store(url) as store, store.reading() as connection:
            assert set(sa.inspect(connection).get_table_names()) == set(metadata.tables)
