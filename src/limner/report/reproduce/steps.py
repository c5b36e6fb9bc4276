"""The runs that fill a paper's tables: a command with its plan and remaining cost for each row and judge."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ... import exams
from ...core.errors import StoreError, UsageError
from ...core.evaluator import row_name
from ...core.exam import Exam, Selection
from ...core.settings import Settings
from ...evidence.backends import Measuring
from ...exams import ExamSource
from ...running.backlog import Backlog
from ...running.estimate import Estimate, Markings, estimate, total
from ...running.plan import Plan
from ...running.setup import Asking, make_plan
from ...store import Store
from ...study.design import find_design
from ...study.new import study_drawings
from ...study.sampling import cell_name
from .request import PaperJudge, PaperList, Reproduction
from .rows import WantedRow

ROLES_AFTER_DRAWING = ("judge", "probe")
"""The roles in estimates that come after drawing."""


@dataclass(frozen=True)
class RunStep:
    """A step that draws and marks one row with one judge.

    Attributes:
        judge: The judge in place of the preset's; `judge_name` is the paper's name for it.
        study: The study whose drawings alone are marked.
        questions: The ids of the only questions that are needed; all if empty.
        cannot: Why it cannot be run.
    """

    row: WantedRow
    judge: PaperJudge | None = None
    study: str | None = None
    questions: tuple[str, ...] = ()
    judge_name: str = ""

    @property
    def cannot(self) -> str | None:
        """The reason why no command can do it; None if one can."""
        return self.row.cannot or (self.judge.cannot if self.judge else None)

    @property
    def marks(self) -> bool:
        """Whether it only marks the drawings of another step, with a judge that is not the preset's."""
        return self.judge is not None and self.judge.judge is not None

    @property
    def key(self) -> str:
        """A key that identifies the step, whichever tables need it."""
        row = self.row if self.cannot else replace(self.row, name="")
        return repr((row, self.judge, self.study, self.questions))


def make_step(
    row: WantedRow,
    judge: PaperJudge | None = None,
    study: str | None = None,
    questions: tuple[str, ...] = (),
    judge_name: str = "",
) -> RunStep:
    """Return a step; the preset's judge marks the whole row, others only the drawings of the study, if one is named."""
    if row.cannot is not None or judge is None or judge == PaperJudge():
        return RunStep(row, questions=() if row.cannot else questions)
    return RunStep(row, judge, study, judge_name=judge_name)


@dataclass(frozen=True)
class StepState:
    """The state of a step: what the store has of it.

    Attributes:
        command: The command that does it, ready to paste.
        plan: The plan; None if it cannot be run here, or the exam's questions are unknown.
        why: The reason why there is no plan.
        label: The painter's label in the store; together with `strategy` and `evaluators`, it identifies the row.
        found: The estimates of what remains to be done; None if unknown.
        items: The tables and figures that need it.
    """

    step: RunStep
    command: str
    plan: Plan | None = None
    why: str | None = None
    label: str = ""
    strategy: str = ""
    evaluators: frozenset[str] = frozenset()
    judges: tuple[str, ...] = ()
    found: tuple[Estimate, ...] | None = None
    items: tuple[str, ...] = ()

    @property
    def judge(self) -> str:
        """The judge, by the paper's name if it is not the preset's; empty if there is none."""
        return self.step.judge_name or ", ".join(self.judges)

    @property
    def to_do(self) -> int | None:
        """The number of missing drawings, measurements and markings; None if unknown."""
        return None if self.found is None else sum(estimate.steps for estimate in self.found)

    @property
    def calls(self) -> int | None:
        """The number of paid calls for what is missing; None if unknown."""
        return None if self.found is None else sum(estimate.calls for estimate in self.found)

    @property
    def dollars(self) -> float | None:
        """The cost of what is missing; None if any price is unknown."""
        if self.found is None:
            return None
        amount, unknown = total(self.found)
        return None if unknown else amount

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "row": self.step.row.name, "painter": self.step.row.spec or None, "strategy": self.step.row.strategy,
            "judges": list(self.judges), "paper_judge": self.step.judge_name or None, "items": list(self.items),
            "steps": self.to_do, "calls": self.calls,
            "dollars": self.dollars, "cannot": self.step.cannot or self.why, "command": self.command,
            "estimates": None if self.found is None else [estimate.to_json() for estimate in self.found],
        }  # fmt: skip


@dataclass
class Planner:
    """A maker of plans and estimates for steps on one store, which reads costly data once."""

    asked: Reproduction
    listing: PaperList
    store: Store
    settings: Settings
    loaded: tuple[ExamSource, Exam[Any]] | None
    why: str | None = None
    _markings: Markings = field(default_factory=dict)
    _drawn: set[tuple[str, str]] = field(default_factory=set)
    _measures: bool = True
    _unfit: str | None = None

    def state(self, step: RunStep, items: tuple[str, ...]) -> StepState:
        """Return the state of a step; drawings that an earlier step will make are not counted again.

        For a step that cannot be run today, it is what the step made while its models were there.
        """
        judges = tuple(self._asking(step)["judges"] or filter(None, [self._preset(step.row.preset).get("judge")]))
        state = StepState(step, self.command(step), why=step.cannot or self.why, judges=judges, items=items)
        if step.cannot is not None:
            state = replace(state, command="")
            if not step.row.word or (step.judge is not None and not step.judge.judge and step.judge.cannot):
                return state
        plan, why = self._planned(step) if self.loaded is not None else (None, self.why)
        if plan is None:
            return replace(state, why=step.cannot or why)
        backlog, (arm,) = Backlog(plan, self.store), plan.arms
        label, strategy = backlog.label(arm.painter), arm.strategy.name
        state = replace(state, label=label, strategy=strategy, evaluators=backlog.setups)
        if step.cannot is not None:
            return state
        lines = estimate(plan, self.store, self.settings, self._markings)
        if step.questions:
            pass  # Priced by itself, whichever other items need the row.
        elif (label, strategy) in self._drawn or step.marks:
            lines = [line for line in lines if line.role in ROLES_AFTER_DRAWING]
        elif step.study is None:
            self._drawn.add((label, strategy))
        judges = tuple(judge.name for judge in plan.judges)
        return replace(state, judges=judges, why=why, plan=plan if why is None else None, found=tuple(lines))

    def _preset(self, name: str) -> dict[str, Any]:
        return exams.kind(self.asked.kind).preset(name or None)

    def _planned(self, step: RunStep) -> tuple[Plan | None, str | None]:
        """Return the plan and what this machine lacks for it; if probes are missing, it is planned without them."""
        try:
            plan = self.plan(step)
            if self._unfit is None:
                self._unfit = _missing_parts(plan)
        except UsageError as error:
            return None, str(error)
        return (replace(self, _measures=False).plan(step), self._unfit) if self._unfit else (plan, None)

    def plan(self, step: RunStep) -> Plan:
        """Return the plan of a step."""
        row = step.row
        plan = self._made(step, Asking(**self._asking(step), preset=row.preset))
        if step.study is not None:
            plan = self._sampled(step.study, plan)
        if not step.marks:
            return plan
        own = Asking(**self._asking(step), variant=self._preset(row.preset).get("variant"))
        return replace(plan, judges=self._made(step, own).judges)

    def _made(self, step: RunStep, asking: Asking) -> Plan:
        row = step.row
        return make_plan(
            self.asked.exam,
            self.store,
            loaded=self.loaded,
            user_settings=self.settings,
            painters=() if row.word is None else (row.word,),
            asking=asking,
            selection=Selection(ids=step.questions) if step.questions else self.asked.selection,
            painter_options=row.painter_args,
            strategies=() if row.strategy is None else (row.strategy,),
            strategy_options=row.strategy_options,
            measuring=self.measuring if self._measures else None,
        )

    def _sampled(self, study: str, plan: Plan) -> Plan:
        """Return the plan for the drawings of a study alone; until they are drawn, for as many questions."""
        (arm,) = plan.arms
        row = row_name(Backlog(plan, self.store).label(arm.painter), arm.strategy.name)
        try:
            return replace(plan, only_drawings=study_drawings(self.store, self.asked.exam, study, [row]))
        except (UsageError, StoreError):
            design = find_design(study, exams.kind(self.asked.kind)).sample
            cells = {cell_name(question.tags, design.cross) for question in plan.exam.questions}
            return replace(plan, exam=plan.exam.select(Selection(limit=design.size or len(cells) * (design.each or 0))))

    @property
    def measuring(self) -> Measuring | None:
        """The measurements, with the paper's probes or the user's replacements."""
        preset, names = self._preset(self.listing.preset), ("regions", "aesthetics")
        words = {name: word for name in names if (word := getattr(self.asked, name) or preset.get(name))}
        return Measuring(words) if words else None

    def _asking(self, step: RunStep) -> dict[str, Any]:
        judge, asked = step.judge or PaperJudge(), self.asked
        spec = judge.judge or asked.judge
        args = judge.args if step.marks else {**judge.args, **asked.judge_args}
        options = {**self._preset(step.row.preset).get("options", {}), **judge.options} if step.marks else judge.options
        return {"judges": () if spec is None else (spec,), "args": args, "options": options}

    def command(self, step: RunStep) -> str:
        """Return the command line of a step."""
        row, asked, asking = step.row, self.asked, self._asking(step)
        words = ["limner", "mark" if step.marks else "run", asked.exam]
        if step.marks:
            preset = self._preset(row.preset)
            words += ["--painter", row.word.partition("=")[0]] if row.word else []
            words += ["--variant", preset["variant"]] if "variant" in preset else []
        else:
            words += ["--painter", row.word] if row.word is not None else []
            words += _pairs("--painter-arg", row.painter_args)
            words += [*(["--strategy", row.strategy] if row.strategy else []), *_pairs("-S", row.strategy_options)]
            words += ["--preset", row.preset]
        words += [word for spec in asking["judges"] for word in ("--judge", spec)]
        words += [*_pairs("--judge-arg", asking["args"]), *_pairs("-O", asking["options"])]
        measured = self.measuring.words if self.measuring else {}
        words += [word for name, value in measured.items() for word in (f"--{name}", value)]
        words += ["--ids", ",".join(step.questions)] if step.questions else asked.selection_words
        words += ["--study", step.study] if step.study else []
        if not step.marks and asked.data is not None:
            words += ["--data", str(asked.data)]
        elif not step.marks and self.loaded is None:
            words += ["--data", "DIR"]
        return shlex.join([*words, "--store", asked.store])


def _missing_parts(plan: Plan) -> str:
    """Return what the plan's probes lack on this machine."""
    try:
        assert all(probe.name for probe in plan.probes)
    except UsageError as error:
        return str(error)
    return ""


def _pairs(option: str, values: Mapping[str, Any]) -> list[str]:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return [word for name, value in texts.items() for word in (option, f"{name}={value}")]
