"""Several processes may make or bring forward one PostgreSQL store at once; killed, it is the old one or the new."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from limner.store import Store, version_at
from limner.store.schema import VERSION
from tests.store.versions import killed, look, make_version_1, race, rows, shape

pytestmark = pytest.mark.slow
ROUNDS = 6


def databases(postgres: str, name: str, count: int, template: str = "template0") -> list[str]:
    """The URLs of so many new databases."""
    engine = sa.create_engine(postgres.partition("&blobs")[0].replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for n in range(count):
            connection.exec_driver_sql(f"CREATE DATABASE {name}{n} TEMPLATE {template}")
    engine.dispose()
    return [postgres.replace("/postgres?", f"/{name}{n}?") for n in range(count)]


def test_several_processes_may_make_one_store_at_once(postgres: str) -> None:
    urls = databases(postgres, "made", ROUNDS)
    assert race(urls) == ("", "")
    assert {version_at(url) for url in urls} == {VERSION}


def test_several_processes_may_bring_one_store_forward_at_once(postgres: str) -> None:
    urls = databases(postgres, "forward", ROUNDS)
    for url in urls:
        make_version_1(url)
    wrong, said = race(urls)
    assert wrong == ""
    assert said.splitlines() == [f"the store {url} is brought from version 1 to {VERSION}" for url in urls]
    assert {version_at(url) for url in urls} == {VERSION}


def test_a_new_store_is_like_one_brought_forward(postgres: str) -> None:
    new, old = databases(postgres, "alike", 2)
    make_version_1(old)
    before = look(old, rows)
    Store(new).close()
    Store(old).close()
    assert look(new, shape) == look(old, shape)
    after = look(old, rows)
    assert [row.pop("kind") for row in after["setups"]] == ["judge"]
    assert {name: found for name, found in after.items() if name in before} == before
    assert not any(found for name, found in after.items() if name not in before)


def test_killed_at_any_step_it_is_old_or_new_and_the_next_one_ends_it(postgres: str) -> None:
    (first,) = databases(postgres, "first", 1)
    make_version_1(first)
    urls = databases(postgres, "killed", 80, "first0")
    ends = killed(urls)
    assert (ends.count(-9), ends.count(0)) == (steps := ends.index(0), len(urls) - steps)
    assert steps > 8
    found = [version_at(url) for url in urls]
    late = found.index(VERSION)
    assert found == [1] * late + [VERSION] * (len(urls) - late)
    assert late > 5
    old = look(first, shape)
    for step, (url, version) in enumerate(zip(urls, found, strict=True)):
        assert (look(url, shape) == old) == (version == 1)
        # All that are alike are brought forward alike: some will do, and those around the change.
        if step % 6 == 0 or abs(step - late) < 3:
            Store(url).close()
            assert version_at(url) == VERSION
