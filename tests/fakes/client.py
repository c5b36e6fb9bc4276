"""The test's side of the fake services."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

Json = dict[str, Any]
_ROOT = Path(__file__).resolve().parents[2]


class Server:
    """A fake service as a process of its own.

    Attributes:
        module: What `python -m` runs.

    Args:
        keep: How many request bodies the service remembers.
        plan: The first plan.
    """

    module: ClassVar[str]

    def __init__(self, *, keep: int = 1000, **plan: Any) -> None:
        self._args = ["--port", "0", "--keep", str(keep), "--plan", json.dumps(plan), "--until-stdin-closes"]
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> Self:
        """Starts the process and returns once it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module, *self._args],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.module} did not start (exit status {self._process.wait()})")
        self.port = json.loads(line)["port"]
        return self

    def stop(self) -> None:
        """Ends the process; a second call does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def configure(self, **plan: Any) -> None:
        """Puts a whole new plan in place; what is not named goes back to its default. Counts stay.

        Raises:
            ValueError: The service does not accept the plan.
        """
        self._call("POST", "/control/plan", plan)

    def reset(self) -> None:
        """Forgets all counts, all requests and the plan."""
        self._call("POST", "/control/reset")

    def counts(self) -> Json:
        """The service's own counts since the last reset; see `tests.fakes.tally.Tally`."""
        return self._call("GET", "/control/counts")

    def requests(self, last: int = 1000) -> list[Any]:
        """The last request bodies, oldest first; a data URL reads {"sha256", "bytes", "media"}."""
        return [record["body"] for record in self.records(last)]

    def records(self, last: int = 1000) -> list[Json]:
        """The last requests, oldest first, each with its key, outcome and body."""
        records: list[Json] = self._call("GET", f"/control/requests?last={last}")["requests"]
        return records

    def wait_in_flight(self, want: int, timeout: float = 30) -> None:
        """Blocks until so many requests are in flight at once.

        Raises:
            TimeoutError: That did not happen in time.
        """
        self._call("GET", f"/control/wait?in_flight={want}", timeout=timeout)

    def _call(self, method: str, path: str, body: Json | None = None, timeout: float = 30) -> Json:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            data: Json = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(data["error"])
        return data


class ChatServer(Server):
    """The fake chat service; see `tests.fakes.plan.Plan` for the plan's keys.

    Example:
        with ChatServer(seed=7) as server:
            server.configure(seed=7, faults={"http_500": 0.1})
            ...  # drive something at server.base_url
            assert server.counts()["answered"] == 20
    """

    module = "tests.fakes.chat"
