"""Who works on a plan now: shown to others while it goes on, and ended when the plan is withdrawn."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread

from ..calls.claims import LEASE_S, Owner, this_process
from ..core.errors import StoreError
from ..store import Store, now
from ..store.plans import PlanWorker, StoredPlan, is_wanted, load_workers, remove_workers, save_worker
from .runner import Runner

LOOK_S = 5.0
"""So often a worker shows how far it is, and looks whether its plan is still wanted."""


class Attendance:
    """Use as a context manager around a run of the plan.

    Attributes:
        withdrawn: Whether the plan was withdrawn meanwhile; then the run begins nothing more.
    """

    def __init__(self, store: Store, plan: StoredPlan, runner: Runner) -> None:
        self.store, self.plan, self.runner, self.withdrawn = store, plan, runner, False
        owner = this_process()
        who = owner.host, owner.pid, owner.start
        self._worker = PlanWorker(secrets.token_hex(16), plan.id, *who, lease_until=now() + LEASE_S)
        self._ended = Event()
        self._beside = Thread(target=self._look_now_and_then, name="limner-attendance", daemon=True)

    def __enter__(self) -> Attendance:
        gone = [one.token for one in load_workers(self.store) if not is_alive(one)]
        if gone:
            remove_workers(self.store, *gone)
        save_worker(self.store, self._worker)
        self._beside.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._beside.join(LOOK_S)
        # Nobody is hindered by a row that stays: its process is seen to be gone.
        with suppress(StoreError):
            remove_workers(self.store, self._worker.token)

    def _look_now_and_then(self) -> None:
        while not self._ended.wait(LOOK_S):
            # A lease outlasts many looks: what hinders one must not end them all.
            with suppress(StoreError):
                self._look()

    def _look(self) -> None:
        progress = self.runner.progress
        lease = now() + LEASE_S
        save_worker(
            self.store, replace(self._worker, settled=progress.settled, total=progress.total, lease_until=lease)
        )
        if not is_wanted(self.store, self.plan):
            self.withdrawn = True
            self.runner.stop()


def is_alive(worker: PlanWorker) -> bool:
    """Whether the process is there, as far as can be seen from here."""
    owner = Owner(worker.host, worker.pid, worker.process_start)
    return worker.lease_until > now() and not owner.is_dead_here()
