"""A build killed three times at seeded requests ends as one that never was; what was answered is not paid twice."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.store import Store
from limner.store.schema import attempts, calls
from tests.build.llm import routes
from tests.build.material import SETTINGS, built, pictures
from tests.build.scripted import scripted, write_provider
from tests.support import start_limner

pytestmark = pytest.mark.slow
PICTURES, KILLS, SEED = 5, 3, 4


def test_three_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pictures(tmp_path / "pics", PICTURES)
    monkeypatch.chdir(tmp_path)
    chance = random.Random(SEED)
    with scripted(*routes()) as llm:
        write_provider(tmp_path, llm)
        with Store(tmp_path / "whole") as store:
            whole, items = built(store, folder).look()
        asked = llm.total
        bare = llm.answered.copy()
    with scripted(*routes()) as llm:
        write_provider(tmp_path, llm)
        words = ["build", "new", "school", "--recipe", "exam", "--set", f'images.folders=["{folder}"]']
        words += [word for setting in SETTINGS for word in ("--set", setting)]
        new = start_limner(
            *words, "-S", "annotator=fake/llm", "-S", "checker=fake/llm", "--store", "store", cwd=tmp_path
        )
        assert new.wait() == 0
        for _ in range(KILLS):
            # Its number is known before it asks anybody: pictures are measured first.
            process = start_limner("build", "run", "school", "--store", "store", "--concurrency", "3", cwd=tmp_path)
            llm.kill = (process.pid, llm.total + chance.randint(1, 3))
            assert process.wait(timeout=120) == -signal.SIGKILL
        last = start_limner("build", "run", "school", "--store", "store", "--json", cwd=tmp_path)
        _, err = last.communicate(timeout=120)
        assert (last.returncode, err.count("Traceback")) == (0, 0), err
        # Three were in flight at each kill at most; whatever was answered and stored is asked for once.
        assert llm.refused == []
        assert asked <= llm.total <= asked + 3 * KILLS
        assert set(llm.answered) == set(bare)
        again = {key: n for key, n in llm.answered.items() if n > 1}
        assert sum(n - 1 for n in again.values()) <= 3 * KILLS
    with Store(tmp_path / "store") as store:
        with store.reading() as connection:
            made = connection.execute(sa.select(calls).where(calls.c.kind == "chat")).all()
            tried = connection.execute(sa.select(attempts).join(calls, calls.c.key == attempts.c.call)
                                       .where(calls.c.kind == "chat")).all()  # fmt: skip
        assert {row.status for row in made} == {"done"}
        good = [row for row in tried if row.fault is None]
        assert len(good) == len(made) == asked
        assert {row.fault for row in tried} <= {None, "interrupted"}
        from limner.build.open import open_build

        counts, found = open_build(store, "school").look()
    assert {id: dict(item.body) for id, item in found.items()} == {id: dict(item.body) for id, item in items.items()}
    assert [(one.place, one.arrived, one.kept, one.dropped) for one in counts] == [
        (one.place, one.arrived, one.kept, one.dropped) for one in whole
    ]
