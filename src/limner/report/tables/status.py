"""Tables of installed exams and models, the progress of builds and studies, costs, and the demo's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from ...build.recipe import BuildRecipe, PaperCount, RecipeStep
from ...build.records import StepCount
from ...calls.batches import BatchState
from ...calls.budget import PurseState
from ...core.catalogue import ModelFacts, PainterFacts, state_of, successor_of
from ...core.errors import UsageError
from ...core.plot_data import plural
from ...core.settings import Settings
from ...exams import SAMPLE, SHIPPED, downloaded_data, exam_names, kind, read, resolve
from ...exams.key import OCR_PAINTERS, PAINTERS
from ...judges.key import count_agreement
from ...running.estimate import Estimate, Spent, total
from ...running.plan import Shard
from ...running.progress import duration, spent_text
from ...scoring import Standing
from ...store import now
from ...study.open import OpenStudy
from ...study.progress import StudyProgress
from ...study.records import Study
from .model import MISSING, Cells, Table, column_table, number, simple_table


def funnel_rows(recipe: BuildRecipe, counts: Sequence[StepCount]) -> list[dict[str, Any]]:
    """Return a mapping for each step: its counts, and the number of items that remained in the paper."""
    # Beside a number of items only a number of items; counts of concepts and of parts are in the table's notes.
    miles = {mile.after: mile for mile in reversed(recipe.paper) if not (mile.distinct or mile.where)}
    steps = []
    for place, count in zip(recipe.places, counts, strict=True):
        mile = miles.get(place.name)
        printed = {"paper": mile.items if mile else None, "paper_said": mile.said if mile else None}
        steps.append({"sort": place.step.takes, "about": place.step.about, **count.to_json(), **printed})
    return steps


_STATES = {"waiting": "wait for review", "pending": "to do", "made": "added", "kept_by_review": "kept, as reviewed"}


def funnel_table(build: str, recipe: BuildRecipe, counts: Sequence[StepCount]) -> Table:
    """Return a table with a row for every step."""
    rows = []
    for row in funnel_rows(recipe, counts):
        why = [f"{n:,} {reason}" for reason, n in sorted(row["dropped"].items(), key=lambda one: (-one[1], one[0]))]
        why += [f"{n:,} failed ({fault})" for fault, n in sorted(row["failed"].items())]
        why += [f"{row[name]:,} {what}" for name, what in _STATES.items() if row[name]]
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        paper = MISSING if row["paper"] is None else f"{row['paper']:,}"
        numbers = f"{row['arrived']:,}", f"{row['kept'] + row['made']:,}"
        rows.append([row["place"], *numbers, paper, cost, ", ".join(why)])
    printed = " → ".join(f"{mile.items:,} {mile.said}" for mile in recipe.paper)
    notes = [f"the paper: {printed}"] if printed else []
    mine = " → ".join(
        f"{count.miles.get(mile.said, count.kept + count.made):,} {_said(place, mile)}"
        for mile in recipe.paper
        for place, count in zip(recipe.places, counts, strict=True)
        if count.place == mile.after
    )
    if mine:
        notes.append(f"this build: {mine}")
    heads = ["step", "in", "out", "paper", "dollars", "why not"]
    return simple_table(f"build {build}, recipe {recipe.name}: {recipe.title}", heads, rows, notes, prose=["why not"])


def _said(place: RecipeStep, mile: PaperCount) -> str:
    """Return the paper's words for a count; items that nobody reviewed are not called reviewed."""
    return "not reviewed" if place.step.reviewed and not getattr(place.settings, "reviewers", 0) else mile.said


def list_exams() -> list[dict[str, Any]]:
    """Return name, title, state and licence of the data, number of questions and main score of all installed exams."""
    rows = list[dict[str, Any]]()
    for name in exam_names():
        try:
            exam = kind(name)
        except UsageError as error:
            rows.append({"exam": name, "title": str(error), "data": "broken"})
            continue
        source, folder = exam.data_source, downloaded_data(name)
        state = "not fetched" if source and source.files else "not released" if source else "only with --data"
        rows.append(
            {
                "exam": name,
                "title": exam.title,
                "data": "here" if folder else f"sample; {state}" if exam.sample else state,
                "folder": str(folder) if folder else None,
                "licence": exam.licence or (source and source.licence) or "none stated",
                "questions": source.questions if source else None,
                "score": exam.protocol.scored[0].name,
            }
        )
    return rows


def exams_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of installed exams."""
    heads = ["exam", "questions", "data", "licence", "title"]
    counted = [row | {"questions": f"{row.get('questions') or 0:,}"} for row in rows]
    cells = [[MISSING if row.get(head) in (None, "0") else str(row[head]) for head in heads] for row in counted]
    notes = [
        "limner exams EXAM: its scores, variants, options and presets",
        "not fetched: get the data with limner exam get EXAM; the sample needs nothing: limner run sample/EXAM",
    ]
    return simple_table("installed exams", heads, cells, notes, prose=["title", "data"])


def studies_table(studies: Sequence[Study]) -> Table:
    """Return a table with all studies of a store."""
    rows = [[study.name, study.exam, study.status, str(study.body["design"]["title"])] for study in studies]
    return simple_table("studies", ["study", "exam", "status", "design"], rows)


def progress_table(study: OpenStudy, progress: StudyProgress) -> Table:
    """Return a table with a row for each rater."""
    heads = ["rater", "done", "places", "skipped", "checks passed", "checks", "same when asked again", "minutes"]
    rows = [
        [rater.rater, str(rater.done), str(rater.places), str(rater.skipped), str(rater.passed), str(rater.checks),
         MISSING if rater.same is None else f"{100 * rater.same:.0f}%", f"{rater.seconds / 60:.0f}"]
        for rater in progress.raters
    ]  # fmt: skip
    title = f"{study.name} · {study.study.exam} · {study.study.status} · {len(study.items)} items"
    notes = [f"{progress.done} of {progress.places} places are done", *study.study.body.get("notes", [])]
    if left := [rater.rater for rater in progress.raters if rater.left_out]:
        notes.append(f"left out by attention checks, so that their answers do not count: {', '.join(left)}")
    return simple_table(title, heads, rows, notes=notes)


def agreement_table(progress: StudyProgress) -> Table:
    """Return a table with a row for each sort of field."""
    heads = ["field", "answered by two or more", "equal pairs", "Krippendorff's alpha"]
    rows = [
        [of_field.name, str(of_field.n), MISSING if of_field.same is None else f"{100 * of_field.same:.0f}%",
         MISSING if of_field.alpha is None else f"{of_field.alpha:.2f}"]
        for of_field in progress.fields
    ]  # fmt: skip
    notes = sorted({f"no alpha: {of_field.reason}" for of_field in progress.fields if of_field.reason})
    return simple_table("agreement so far", heads, rows, notes=notes)


def demo_table(standings: Mapping[str, Sequence[Standing]]) -> Table:
    """Return a table with a row for every painter of the demo, from the best to the worst, and a column for each exam.

    Args:
        standings: Exam -> its painters' numbers by the answer key.
    """
    columns: list[tuple[str, Cells]] = [("painter", list(PAINTERS))]
    for column in _demo_columns(standings):
        values = [column.values.get(painter) for painter in PAINTERS]
        columns.append((column.head, [number(value, column.digits) for value in values]))
    counts = ", ".join(f"{name} {max((row.n for row in rows), default=0)}" for name, rows in standings.items())
    return column_table("the bundled samples · judge key", columns, [f"questions: {counts}"])


def demo_sentences(standings: Mapping[str, Sequence[Standing]]) -> list[str]:
    """Return what the table shows, in words: whether each exam ranks the painters, and which it cannot tell apart."""
    disordered, ties = [], []
    for column in _demo_columns(standings):
        scores = [column.values[painter] for painter in PAINTERS if painter in column.values]
        if len(scores) < 2 or scores[0] == scores[1] or scores != sorted(scores, reverse=True):
            disordered.append(column.head)
        for score in dict.fromkeys(scores):
            tied = [painter for painter in PAINTERS if column.values.get(painter) == score]
            ties += [f"{column.head} gives the same score to: {', '.join(tied)}."] if len(tied) > 1 else []
    if disordered:
        return [f"Some worse drawings score above better ones in: {', '.join(disordered)}.", *ties]
    order = "the right drawings first, a blank sheet last, and no drawing above a better one"
    return [f"Every exam ranks the painters as anyone would: {order}.", *ties]


def ocr_sentence() -> str:
    """Return how often the OCR examiner agrees with the answer keys of the samples."""
    agreed = decided = count = 0
    for name in SHIPPED:
        for_exam = count_agreement(read(resolve(f"{SAMPLE}{name}")), kind(name))
        agreed, decided, count = (sum(pair) for pair in zip((agreed, decided, count), for_exam, strict=True))
    return (
        f"The OCR examiner, which only reads words, decides {decided / count:.0%} of the criteria "
        f"({', '.join(OCR_PAINTERS)}) and agrees with the key on {agreed / decided:.1%} of those."
    )


class _DemoColumn(NamedTuple):
    """A score of an exam, by painter."""

    head: str
    values: Mapping[str, float]
    digits: int


def _demo_columns(standings: Mapping[str, Sequence[Standing]]) -> list[_DemoColumn]:
    """Return the main score of each exam, and the next score too if the main one ranks none of the damaged drawings."""
    columns = []
    for name, rows in standings.items():
        protocol = kind(name).protocol
        for score in protocol.scored[:2]:
            values = {row.painter: value for row in rows if (value := row.numbers.value(score.name)) is not None}
            head = f"{name} {protocol.called(score.name).removeprefix(name).strip()}"
            columns.append(_DemoColumn(head, values, score.digits))
            if len(set(values.values())) > 2:
                break
    return columns


def estimate_table(exam: str, questions: int, estimates: Sequence[Estimate], shard: Shard | None = None) -> Table:
    """Return a table with a row for every painter, judge and helper model of a run, or of one shard."""
    rows = []
    for estimate in estimates:
        cost = "unknown" if estimate.dollars is None else f"{estimate.dollars:.2f}"
        counts = (estimate.steps, estimate.calls, estimate.tokens_in, estimate.tokens_out)
        rows.append([estimate.who, estimate.role, *(f"{count:,}" for count in counts), cost, estimate.basis])
    heads = ["who", "role", "steps", "calls", "tokens in", "tokens out", "dollars", "basis"]
    dollars, unknown = total(estimates)
    lacking = f", and what {', '.join(unknown)} costs: add the price to limner.toml" if unknown else ""
    title = f"{exam}: {'' if shard is None else f'shard {shard} of '}{questions} questions, still to do"
    return simple_table(title, heads, rows, [f"in all about ${dollars:.2f}{lacking}"], names=2, prose=["basis"])


def spend_table(store: str, by: Sequence[str], groups: Sequence[Spent]) -> Table:
    """Return a table with a row for every group of calls."""
    rows = []
    for group in groups:
        numbers = [group.calls, group.attempts, group.failed, group.unpriced, group.tokens_in, group.tokens_out]
        rows.append([*(group.group[name] or MISSING for name in by), *map(str, numbers), f"{group.dollars:.4f}"])
    heads = [*by, "calls", "attempts", "failed", "unpriced", "tokens in", "tokens out", "dollars"]
    unpriced = "unpriced: attempts whose cost is not known (no price, or ended before a reply)"
    notes = [unpriced] if any(group.unpriced for group in groups) else []
    if doubted := sum(group.doubted for group in groups):
        notes.append(
            f"{doubted} {'reply reports' if doubted == 1 else 'replies report'} a usage that is not credible: "
            "counted at the most it can have cost"
        )
    dollars, unknown = (sum(getattr(group, name) for group in groups) for name in ("dollars", "unpriced"))
    title = f"spent in {store}: {spent_text(dollars, unknown)}"
    return simple_table(title, heads, rows, notes, names=len(by))


def purse_table(purse: PurseState) -> Table:
    """Return a table with a row for every process that spent from a purse."""
    states = {True: "running", False: "ended", None: "unknown"}
    rows = []
    for by in purse.by:
        dollars = map(_dollars, (by.spent, by.at_bound, by.reserved))
        rows.append([by.host, str(by.pid), states[by.running], str(by.attempts), *dollars])
    heads = ["machine", "process", "state", "attempts", "spent", "of it at the bound", "set aside"]
    parts = f"${_dollars(purse.spent)} spent, ${_dollars(purse.reserved)} set aside, ${_dollars(purse.left)} left"
    title = f"purse {purse.purse}: {parts} of ${purse.limit:g}"
    notes = []
    if any(by.at_bound for by in purse.by):
        notes.append("at the bound: the cost is not known, so the most it can be counts")
    if purse.beyond:
        notes.append(f"${_dollars(purse.beyond)} was reported beyond what calls can cost by the price list")
    if purse.lost:
        held = f"${_dollars(purse.lost)} is still set aside by processes that ended during a call"
        notes.append(f"{held}: their cost is not known, so it counts")
    return simple_table(title, heads, rows, notes, names=3)


def batches_table(store: str, batches: Sequence[BatchState]) -> Table:
    """Return a table with a row for every batch."""
    rows, at = [], now()
    for batch in batches:
        price = "unknown" if batch.bound is None else _dollars(batch.bound)
        counts = f"{batch.calls or batch.waiting:,}", f"{batch.waiting:,}"
        rows.append(
            [batch.id[:8], batch.service, batch.model, *counts, batch.status, duration(at - batch.created), price]
        )
    heads = ["id", "service", "model", "calls", "waiting", "status", "age", "at most"]
    waiting = sum(batch.waiting for batch in batches)
    notes = [f"{waiting:,} calls wait: the command that submitted them fetches the results"] if waiting else []
    notes += [f"{batch.id[:8]}: {batch.detail}" for batch in batches if batch.detail][:5]
    return simple_table(f"batches in {store}: {len(batches)}", heads, rows, notes, names=3)


def _dollars(amount: float) -> str:
    return f"{amount:.4f}"


MOST_SOURCES = 20
"""The number of models up to which the table has the sources of their prices."""
HEADS = ["model", "released", "gone on", "successor", "in", "out", "an image", "priced on"]


def chosen_models(settings: Settings, word: str | None, gone: bool, day: date) -> dict[str, ModelFacts]:
    """Return the models that contain the word in a name, maker or source; with `gone`, only those gone or ending."""
    wanted = (word or "").casefold()
    return {
        name: facts
        for name, facts in settings.models.items()
        if wanted in " ".join([name, facts.maker or "", facts.source or "", *facts.paper_names]).casefold()
        and not (gone and state_of(facts, day) == "current")
    }


def models_table(rows: Mapping[str, ModelFacts], settings: Settings, day: date) -> Table:
    """Return a table with a row for every model: its dates, successor and prices."""
    cells, sources = [], dict[str, list[str]]()
    for name, facts in rows.items():
        painter = settings.painter(name)
        priced: ModelFacts | PainterFacts = facts if facts.input_price is not None else painter
        if priced.source:
            sources.setdefault(priced.source, []).append(name)
        ends = MISSING if facts.shutdown is None else f"{facts.shutdown}{' (gone)' if facts.shutdown <= day else ''}"
        row = [name if facts.confirmed else f"{name} ?", str(facts.released or MISSING), ends]
        row += [successor_of(name, settings.models, day) or MISSING, _price(facts.input_price)]
        cells.append([*row, _price(facts.output_price), _an_image(painter), priced.priced_on or MISSING])
    notes = ["in and out: dollars per million tokens; an image: dollars each, or the most it can cost"]
    unsure = any(not facts.confirmed for facts in rows.values())
    notes += ["?: not every fact was found in pages of its maker or its service"] if unsure else []
    if len(rows) <= MOST_SOURCES:
        notes += [f"price of {', '.join(names)}: {source}" for source, names in sources.items()]
    else:
        notes.append("`--find WORD` also shows the sources of the prices")
    return simple_table(f"{plural(len(rows), 'model')}, as of {day}", HEADS, cells, notes, prose=["successor"])


def models_body(rows: Mapping[str, ModelFacts], settings: Settings, day: date) -> list[dict[str, Any]]:
    """Return the models with all facts as plain JSON."""
    return [
        {"model": name, "state": state_of(facts, day)}
        | facts.model_dump(mode="json")
        | {"painter": settings.painters[name].model_dump(mode="json") if name in settings.painters else None}
        for name, facts in rows.items()
    ]


def _price(price: float | None) -> str:
    """Return a price with two decimals, or as many as it has."""
    return MISSING if price is None else max(f"{price:.2f}", f"{price:.6f}".rstrip("0"), key=len)


def _an_image(painter: PainterFacts) -> str:
    if painter.image_price is None and painter.image_bound is not None:
        return f"≤ {_price(painter.image_bound)}"
    return _price(painter.image_price)
