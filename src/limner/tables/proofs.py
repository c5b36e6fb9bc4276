"""The proof of a rubric as tables, from its plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..certify.bias import CLEAN, TOLERATED
from ..certify.proof import VERDICTS
from ..certify.proof_trials import BLANK, TEXT
from ..certify.trials import OTHER
from .certificates import share_words
from .model import Table, simple_table

PICTURES = {CLEAN: "the reference", BLANK: "a white sheet", TEXT: "the prompt in type", OTHER: "another's reference"}
"""Pictures with a known right outcome, as readers know them."""
MEANING = {
    "proved": "met by the reference, and taken away by a corruption of it",
    "mend": "listed below with the reason",
    "undecided": "the judge abstained where it matters",
    "untested": "nothing to try: no reference, or no corruption of it could be made",
}
REASONS = {
    "reference": "the reference does not meet it",
    "blank": "a white sheet meets it",
    "unkilled": "no corruption takes it away",
    "guessed": "met without a picture",
    "unsteady": "the same asked twice, answered differently",
    "compound": "asks several things at once",
    "general": "does not say what is to be seen",
    "always-true": "whatever is drawn meets it",
    "invisible": "no picture can show it",
}


def proof_tables(body: Mapping[str, Any]) -> list[Table]:
    """What passes and fails, what is known of the criteria, what corruptions take away, and what is to be mended."""
    return [_pictures(body), _verdicts(body), _corruptions(body), _mend(body)]


def _pictures(body: Mapping[str, Any]) -> Table:
    rows = []
    for kind, found in body["pictures"].items():
        if not any(found[word] for word in ("passes", "fails", "undecided")):
            continue
        right = "passes" if kind == CLEAN else "fails"
        wrong = "fails" if kind == CLEAN else "passes"
        rows.append(
            [
                PICTURES[kind],
                "pass" if kind == CLEAN else "fail",
                *(str(found[word]) for word in (right, wrong, "undecided")),
            ]
        )
    guess, repeat = body["guessed"], body["repeats"]
    notes = []
    if guess["value"] is None:
        notes.append("without a picture: nothing decided")
    else:
        more = f"; {guess['undecided']} undecided" if guess["undecided"] else ""
        notes.append(f"without a picture: yes to {share_words(guess)} of the criteria it decides{more}")
        if guess["value"] > TOLERATED:
            notes.append("this judge guesses: its yes without a picture is no reason to mend a criterion")
    if repeat["n"]:
        notes.append(
            f"asked twice about the same picture: {share_words(repeat['rate'])} of {repeat['n']} answers differ"
        )
    else:
        notes.append("asked twice about the same picture: nothing decided twice")
    notes += _impossible(body)
    title = f"{body['exam']} · proof of the rubric by {body['judge']} · seed {body['seed']}"
    heads = ["picture", "must", "does", "does not", "undecided"]
    return simple_table(title, heads, rows, notes, prose=("picture",))


def _impossible(body: Mapping[str, Any]) -> list[str]:
    together: dict[tuple[str, int], list[str]] = {}
    for one in body["impossible"]:
        together.setdefault((one["why"], one["questions"]), []).append(PICTURES.get(one["picture"], one["picture"]))
    return [
        f"not possible for {count} of {_questions(body['questions'])}: {', '.join(names)} ({why})"
        for (why, count), names in together.items()
    ]


def _questions(count: int) -> str:
    return f"{count} question" if count == 1 else f"{count} questions"


def _verdicts(body: Mapping[str, Any]) -> Table:
    rows = [[verdict, str(body["criteria"][verdict]), MEANING[verdict]] for verdict in VERDICTS]
    asks = f"{body['asked']} asks" if body["asked"] != 1 else "1 ask"
    notes = [f"{_questions(body['questions'])}, {asks}, {body['failed']} failed"]
    if body["examined"] is None:
        notes.append("the judge was not examined: what it does not see looks like a criterion to mend")
    return simple_table("", ["criteria", "how many", "what it means"], rows, notes, prose=("what it means",))


def _corruptions(body: Mapping[str, Any]) -> Table:
    rows = [
        [name, *(str(found[word]) for word in ("criteria", "killed", "survived", "undecided"))]
        for name, found in body["corruptions"].items()
        if found["criteria"]
    ]
    heads = ["corruption", "criteria asked", "taken away", "survived", "undecided"]
    notes = ["survived: still met, though the corruption takes away what the criterion names"]
    return simple_table("", heads, rows, notes if rows else ["no reference was corrupted"])


def _mend(body: Mapping[str, Any]) -> Table:
    rows = [
        [one["question"], one["criterion"], one["text"], "; ".join(_reason(reason) for reason in one["reasons"])]
        for one in body["mend"]
    ]
    counted = ", ".join(f"{REASONS.get(kind, kind)}: {count}" for kind, count in body["reasons"].items())
    title = "criteria to mend" if rows else "no criterion is to be mended"
    heads = ["question", "criterion", "text", "why"]
    return simple_table(title, heads, rows, [counted] if counted else [], names=2, prose=("text", "why"))


def _reason(reason: Mapping[str, Any]) -> str:
    return f"{reason['kind']}: {reason['detail']}"
