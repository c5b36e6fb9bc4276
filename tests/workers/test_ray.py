"""Workers on a real cluster of two nodes on this machine: same results as local workers, even if a node is lost."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa
from PIL import Image, ImageDraw

from limner import api
from limner.core.errors import UsageError
from limner.core.images import encode_png, font
from limner.evidence.probe import OcrProbe
from limner.painters.batched import DrawItem, open_workers, read_drawing, submit
from limner.painters.diffusers import DrawSettings, PipelineSetup
from limner.painters.diffusers.options import Options
from limner.running.progress import Progress
from limner.store import Store, schema
from limner.workers import Pool, Recipe, WorkerDeath, WorkerUnfit, hosts, pool_of
from limner.workers.process import Hosts
from limner.workers.ray import cluster
from tests.fakes import brush
from tests.needs import need
from tests.support import SmallExam, run_limner
from tests.workers.test_pool import gone

pytestmark = pytest.mark.slow

LONG = 120.0
CANARY = "sk-canary-0123456789abcdef"
"""A key in the environment that the nodes were started in."""
OWN = "sk-driver-fedcba9876543210"
"""A key of the process that uses the cluster alone."""
LOGIN = "postgresql://me:password-of-mine@host/store"
OBEDIENT = Recipe("faulty", "tests.workers.faulty:obedient", workers=2)


class Nodes:
    """A cluster of nodes on this machine: the first has a core and says it has a GPU, each further one has a core."""

    def __init__(self, folder: str) -> None:
        from ray._common.utils import get_default_ray_temp_dir
        from ray.cluster_utils import Cluster

        # Ray notes the address of its newest cluster there, and does not make the folder.
        Path(get_default_ray_temp_dir()).mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._how: dict[str, Any] = {"object_store_memory": 80 * 2**20, "num_cpus": 1}
        first = {**self._how, "num_gpus": 1, "include_dashboard": False, "temp_dir": folder}
        self._cluster = Cluster(initialize_head=True, head_node_args=first)
        self.address: str = self._cluster.address
        self._second: Any = None
        self.two()

    def two(self) -> None:
        """Have a second node, if it was lost before."""
        if self._second is None:
            self._second = self._cluster.add_node(wait=False, **self._how)
            self._cluster.wait_for_nodes(LONG)

    def lose(self) -> None:
        """The second node goes with all that stands on it, as when its power fails."""
        node, self._second = self._second, None
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        family = raylet.children(recursive=True)
        raylet.kill()
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._cluster.remove_node(node, allow_graceful=False)

    def end(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    try:
        import ray  # noqa: F401
    except ImportError:
        need("ray", False, "pip install 'limner[ray]'")
    set_before = {name: os.environ.get(name) for name in ("OPENAI_API_KEY", "RAY_USAGE_STATS_ENABLED")}
    os.environ |= {"OPENAI_API_KEY": CANARY, "RAY_USAGE_STATS_ENABLED": "0"}
    # Sockets lie in it, whose names must be short.
    folder = tempfile.mkdtemp(prefix="lr")
    made = None
    try:
        made = Nodes(folder)
        for name, value in set_before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        yield made
    finally:
        if made is not None:
            made.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", OWN)


def ended(pool: Pool, word: str, seconds: float = LONG, **given: Any) -> Any:
    """What becomes of a job, in a form that can be compared."""
    job = pool.submit(given, (word.encode(),), seconds=seconds)
    error = job.exception(LONG)
    if error is None:
        return job.result().value, job.result().bodies
    # Whether one that was ended had ended by itself before is a matter of moments.
    without = {"heard", *(["code"] if "was ended" in str(error) else [])}
    fields = {name: value for name, value in vars(error).items() if name not in without}
    return type(error), str(error), fields


WORDS = ("hello", "exit", "raise", "bad image", "bytes", "last words")


def test_remote_worker_reports_same_outcomes_as_local_worker(nodes: Nodes) -> None:
    with cluster(nodes.address):
        here, there = Pool(OBEDIENT, hosts=Hosts()), Pool(OBEDIENT)
        for word in WORDS:
            assert ended(there, word, lines=[1, "é"]) == ended(here, word, lines=[1, "é"]), word
        assert ended(there, "hang", 0.5) == ended(here, "hang", 0.5)
        assert ended(there, "raise secret", secret=OWN)[1] == "ValueError('401 for ***')"
        assert OWN not in str(ended(there, "secret", secret=OWN))
        first = ended(there, "pid")[0]
        assert (ended(there, "pid")[0], ended(there, "exit")[0]) == (first, WorkerDeath)
        assert gone(first)
        assert ended(there, "pid")[0] != first
        child = ended(there, "child")[0]
        there.close()
        assert gone(child)
        assert ended(there, "hello")[0] is WorkerUnfit
        here.close()
        broken = Recipe("faulty", "tests.workers.faulty:broken", workers=1)
        pools = Pool(broken, hosts=Hosts()), Pool(broken)
        endings = [[ended(pool, "x") for _ in range(2)] for pool in pools]
        assert endings[0] == endings[1]
        assert endings[1][0][0] is WorkerUnfit
        pools[0].close()


def test_keys_reach_neither_worker_processes_nor_node_files(nodes: Nodes, tmp_path: Path) -> None:
    script = (
        "import json, sys, ray\n"
        "from limner.workers import Pool, Recipe\nfrom limner.workers.ray import cluster\n"
        "with cluster(sys.argv[1]):\n"
        "    pool = Pool(Recipe('faulty', 'tests.workers.faulty:obedient'))\n"
        "    found = pool.submit({}, (b'environ',), seconds=60).result(100).value\n"
        "    print(json.dumps([found, [job['Entrypoint'] for job in ray._private.state.jobs()]]))\n"
    )
    words = [sys.executable, "-c", script, nodes.address, LOGIN]
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run(words, cwd=root, text=True, capture_output=True, timeout=LONG)
    assert result.returncode == 0, result.stderr
    environ, entries = json.loads(result.stdout)
    assert environ["OMP_NUM_THREADS"] == "1"
    assert not {CANARY, OWN} & set(environ.values())
    assert not any(name.startswith("RAY_") for name in environ)
    assert any("postgresql://***@host/store" in entry for entry in entries)
    written = b"".join(file.read_bytes() for file in Path(nodes.folder).rglob("*") if file.is_file())
    assert nodes.address.encode() in written
    assert OWN.encode() not in written
    assert b"password-of-mine" not in written


def content(store: Store) -> dict[str, list[Any]]:
    """All that a run has found, but for when and by whom."""
    without = {"seal", "created", "updated", "host", "pid", "process_start", "token", "lease_until", "seconds",
               "started", "ended", "finished"}  # fmt: skip
    tables = {}
    with store.reading() as connection:
        for table in (schema.drawings, schema.markings, schema.evidence, schema.calls, schema.attempts):
            columns = [column for column in table.c if column.name not in without]
            rows = [list(row) for row in connection.execute(sa.select(*columns))]
            tables[table.name] = sorted(rows, key=repr)
    return tables


def test_run_that_loses_node_stores_same_content_as_local_run(
    nodes: Nodes, tmp_path: Path, make_exam: Callable[[int], SmallExam]
) -> None:
    nodes.two()
    exam = make_exam(6)
    for number, id in enumerate(exam.ids):
        image = Image.new("RGB", (400, 400), "white")
        ImageDraw.Draw(image).text((20, 10), f"Label {number}", font=font(32), fill="black")
        exam.drawing(id).write_bytes(encode_png(image))
    painters, lost = [f"mine=folder/{exam.drawings}"], list[int]()

    def lose(progress: Progress) -> None:
        if progress.done > len(exam.ids) and not lost:
            lost.append(progress.done)
            nodes.lose()

    with Store(tmp_path / "one") as one, Store(tmp_path / "many") as many:
        how: dict[str, Any] = {"painters": painters, "judges": ["ocr"], "data": exam.data}
        assert api.run("genexam", store=one, **how).failed == 0
        with cluster(nodes.address):
            pool, blank = pool_of(OcrProbe()._recipe), encode_png(Image.new("RGB", (400, 400)))
            while pool.started < 2:
                for job in [pool.submit({}, (blank,), seconds=LONG) for _ in range(4)]:
                    job.result(LONG)
            progress = api.run("genexam", store=many, watch=lose, **how)
            assert api.run("genexam", store=many, **how).done == 0
        assert (progress.done, progress.failed, len(lost)) == (12, 0, 1)
        stored = content(many)
        assert stored == content(one)
        assert len(stored["calls"]) == len(stored["attempts"]) == 6
        assert "Label 3" in str(stored["attempts"])


def test_command_line_run_on_cluster_stores_same_content(nodes: Nodes, tmp_path: Path) -> None:
    words = [
        "run",
        "sample/genexam",
        "--painter",
        "control/reference",
        "--judge",
        "ocr",
        "--limit",
        "2",
        "--format=json",
    ]
    words += ["--regions", "classical"]
    contents = []
    for name, more in (("one", []), ("many", ["--ray", nodes.address, "--ray-workers", "1"])):
        result = run_limner(*words, "--store", tmp_path / name, *more, cwd=tmp_path, timeout=2 * LONG)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["failed"] == 0
        with Store(tmp_path / name) as store:
            contents.append(content(store))
    assert contents[0] == contents[1]
    assert [len(contents[1][table]) for table in ("drawings", "markings")] == [2, 2]


def test_messages_of_ray_go_to_stderr(nodes: Nodes, capfd: pytest.CaptureFixture[str]) -> None:
    from ray._private import worker

    message = {"lines": ["a node is lost"], "pid": "raylet", "is_err": False, "ip": "", "job": ""}
    with cluster(nodes.address):
        # As its thread that listens to the cluster calls it.
        worker.print_to_stdstream(message, ignore_prefix=False)
    output = capfd.readouterr()
    assert ("a node is lost" in output.out, "a node is lost" in output.err) == (False, True)


def test_cluster_shares_gpus_and_streams_batches(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a GPU per worker, batches that stream back, and an idle pool that makes room."""
    monkeypatch.setattr("limner.painters.diffusers.FACTORY", brush.FACTORY)
    with cluster(nodes.address, ["0.5", "heavy=1", "huge=2"]) as there:
        model = Recipe("model", OBEDIENT.factory, single=False, gpu=True)
        assert there.count(model) == 2
        assert there.count(Recipe("heavy", OBEDIENT.factory, gpu=True)) == 1
        with pytest.raises(UsageError, match="with --ray-gpus"):
            hosts().devices("diffusers", ["cuda:1"])
        idle = Pool(model, idle_s=None)
        asked = [idle.submit({}, (b"environ",), seconds=LONG) for _ in range(4)]
        assert {job.result(LONG).value["CUDA_VISIBLE_DEVICES"] for job in asked} == {"0"}
        assert asked[0].result().value.get("OMP_NUM_THREADS") == os.environ.get("OMP_NUM_THREADS")
        # Both halves are taken by a pool that keeps its workers: it steps aside.
        drawn = open_workers(
            "diffusers", brush.FACTORY, PipelineSetup(str(tmp_path / "model")), Options({}, 4, (None,))
        )
        submitted = [submit(drawn, DrawSettings(8, 8), DrawItem(f"p{n}", n), LONG) for n in range(6)]
        for n, job in enumerate(submitted):
            picture_of = read_drawing(job.result(LONG))
            assert picture_of.pixels == bytes(brush.colour(f"p{n}", n)) * 64
        assert len(brush.told(tmp_path)) < 6
        drawn.close()
        idle.close()
        with pytest.raises(WorkerUnfit, match="no node of the Ray cluster has 2 GPU"):
            Pool(Recipe("huge", OBEDIENT.factory, gpu=True))
    assert type(hosts()) is Hosts


def test_missing_cluster_is_usage_error() -> None:
    with pytest.raises(UsageError, match="auto or HOST:PORT"), cluster("ray://somewhere:10001"):
        pass
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UsageError, match="no cluster found; start one with `ray start"), cluster(address):
            pass
