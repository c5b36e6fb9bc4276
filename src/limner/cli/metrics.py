"""What `limner evidence --metric` does: metrics with the user's weights, and tables of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import options, running
from .say import say

if TYPE_CHECKING:
    from ..evidence.metrics import LocalMetric
    from ..running.plan import Plan
    from ..store import Store


def measure_metrics(exam: str, given: dict[str, Any], store: Store) -> int:
    """Every metric that is asked for; the exit code."""
    from .. import api
    from ..evidence.backends import is_table
    from ..evidence.metrics import open_metric

    words = given["metrics"]
    opened = {word: open_metric(word) for word in words if not is_table(word)}
    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=options.make_selection(given), draw=False, **how)
    for metric in opened.values():
        metric.check()
    codes = [_bring(plan, word, given, store) for word in words if is_table(word)]
    codes += [_compute(plan, metric, given, store) for metric in opened.values()]
    return max(codes)


def _bring(plan: Plan, word: str, given: dict[str, Any], store: Store) -> int:
    from ..evidence.backends import table_of
    from ..evidence.imported import read_metrics
    from ..store.records import load_drawings

    label, path = table_of(word)
    found = read_metrics(path, plan.exam.name, load_drawings(store, plan.exam.name), label)
    if not given["dry_run"]:
        found.save(store)
    told = f"{len(found.ratings)} numbers of drawings, {len(found.painters)} of painters"
    say(f"{', '.join(found.names)}: {told} from {path}", err=True)
    if given["as_json"]:
        say(json.dumps({"metrics": found.names, "drawings": len(found.ratings), "painters": len(found.painters)}))
    return 0


def _compute(plan: Plan, metric: LocalMetric, given: dict[str, Any], store: Store) -> int:
    from ..running.rate import MetricRunner, set_distances

    name = metric.kind.name
    if metric.kind.sets:
        if given["dry_run"]:
            say(f"{name}: of every painter's drawings together")
            return 0
        found = set_distances(plan, store, metric)
        for each in found:
            say(f"{name} of {each.words}", err=given["as_json"])
        if given["as_json"]:
            say(json.dumps([{**vars(each), "metric": name} for each in found]))
        return 0
    runner = MetricRunner(plan, store, metric)
    runner.check()
    if given["dry_run"]:
        say(f"{name}: of {runner.backlog.count} drawings")
        return 0
    progress = running.watched(runner)
    if runner.cut:
        say(f"note: {name} read only the beginning of the prompt of {runner.cut} drawings", err=True)
    running.close(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)
