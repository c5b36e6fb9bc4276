"""Tables of certificates and rubric proofs, made from their plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...certify.bias import CLEAN, FAMILY_ALPHA, GUESSES, SEES
from ...certify.planted import TYPICAL_NOISE, Detectable
from ...certify.proof import BLANK, TEXT, VERDICTS
from ...certify.trials import OTHER
from ...core.plot_data import plural
from ...store.markings import CertificateRow
from .model import MISSING, Table, number, simple_table


def certificate_tables(row: CertificateRow, detail: bool = False) -> list[Table]:
    """Return tables of the tests and of other facts; with `detail`, also of the faults seen at each dose."""
    body = row.body
    head = f"{body['exam']} · certificate of {body['judge']} · {row.day} · seed {body['seed']}"
    return [_tests(head, body), *([dose_table(body)] if detail else []), fact_table(body)]


def conclusion(body: Mapping[str, Any]) -> str:
    """Return what to conclude from a certificate, in one sentence."""
    judge, words = body["judge"], body["verdict"]
    if words == "clear":
        return f"{judge} is clear: no test found a fault as large as the column least says."
    if "sight" in body["flagged"]:
        return f"{judge} {words}: do not use its marks. No other line matters."
    if not body["flagged"]:
        return f"{judge}: {words}. Too few criteria of this exam name a label that could be read in a reference."
    return f"{judge} {words}: correct its scores with people's marks, or use another judge."


def _tests(title: str, body: Mapping[str, Any]) -> Table:
    rows = []
    for test in body["tests"]:
        outcome = "flagged" if test["flagged"] else "clear" if test["tested"] else "not tested"
        signed = test["name"] in ("yes-lean", "obedience")
        measured = _words(test, ".2f") if test["name"] == "sight" else share_words(test, signed)
        rows.append([test["name"], test["about"], measured, _least(test), outcome])
    notes = [
        f"sight: 0 is chance, 1 always right; the lower end of its interval must be above {SEES}",
        f"others: flagged at a family-wise error of {FAMILY_ALPHA:.0%} (Holm), with answers clustered by question",
        "least: about the smallest distance from a judge without the fault that this examination would find",
    ]
    heads = ["test", "flagged if the judge", "measured", "least", "result"]
    return simple_table(title, heads, rows, notes, above=[conclusion(body)], prose=("flagged if the judge",))


def _least(test: Mapping[str, Any]) -> str:
    value = test["detectable"]
    return MISSING if value is None else f"{value:.2f}" if test["name"] == "sight" else f"{100 * value:.1f} points"


def power_table(tests: Sequence[Detectable]) -> Table:
    """Return a table of how small a fault of the judge each test would find."""
    rows = []
    for test in tests:
        size = MISSING if test.least is None else _found(test, test.least)
        rows.append([test.name, test.about, str(test.answers), size, number(test.more, 0)])
    notes = [
        f"simulated on these pictures, with judges that have the fault and answer {TYPICAL_NOISE:.0%} of criteria "
        "wrongly; found with a probability of 80%",
        "more questions: to find a lean of 10 points, 20% obedience, 30% wrong or changed answers, 20% yes unseen",
        "add --quick, which asks about 200 times, or --questions N to see what another size would find",
    ]
    heads = ["test", "flagged if the judge", "answers", "finds", "more questions"]
    return simple_table("what this examination would find", heads, rows, notes, prose=("flagged if the judge",))


def _found(test: Detectable, least: float) -> str:
    if test.name == "sight":
        return f"sees from {test.bound + least:.2f} on"
    if test.name == "comparing":
        return f"compares from {test.bound + least:.0%} on"
    if test.name in ("yes-lean", "obedience", "position"):
        return f"{100 * least:.1f} points"
    return f"{test.bound + least:.0%} or more"


def dose_table(body: Mapping[str, Any]) -> Table:
    """Return a table of the faults seen at each dose."""
    rows: list[list[str]] = []
    starts: list[int] = []
    for row in body["doses"]:
        if not row["questions"]:
            continue
        if not rows or rows[-1][0] != row["kind"]:
            starts.append(len(rows))
        asked = f"{row['must_fall']} / {row['must_stand']}"
        seen, alarms = share_words(row["seen"]), share_words(row["false_alarms"])
        rows.append([row["kind"], row["about"], str(row["questions"]), asked, seen, alarms, str(row["undecided"])])
    notes = [
        "must fall / stand: answers about criteria that name a label the fault touches, and about others",
        "seen: of those that must fall and were decided, how many fell; false: of those that must stand, how many fell",
    ]
    heads = ["fault", "dose", "questions", "must fall / stand", "seen", "false", "undecided"]
    return simple_table("", heads, rows, notes, names=2, rules=starts[1:])


def fact_table(body: Mapping[str, Any]) -> Table:
    """Return a table of what else was measured."""
    alarms = body["false_alarms"]
    rows = [
        ["questions, asks, failed", f"{body['questions']}, {body['asked']}, {body['failed']}"],
        ["no to criteria of clean references", share_words(alarms["all"])],
        ["no to labels that are in them", share_words(alarms["labels"])],
        ["cost", MISSING if body["cost"] is None else f"${body['cost']:.4f}"],
        ["time of a marking", MISSING if body["seconds"] is None else f"{body['seconds']:.1f} s"],
    ]
    consistency = body["consistency"]
    for row in consistency["rows"]:
        if row["scores"]:
            scores = ", ".join(f"{name} {value:.3g}" for name, value in row["scores"].items())
            which = f" of {consistency['tag']} {row['value']}" if consistency["tag"] else ""
            rows.append([f"references{which} (n={row['n']})", scores])
    if not any(row["scores"] for row in consistency["rows"]):
        rows.append(["scores of the references", "none: it decides too few criteria"])
    notes = []
    if consistency["least"]:
        bounds = ", ".join(f"{name} > {least}" for name, least in consistency["least"].items())
        reached = {True: "reached", False: "not reached", None: "not known"}[consistency["reached"]]
        notes.append(
            f"self-consistency as the exam's paper reports it, at every {consistency['tag']}: {bounds}: {reached}"
        )
    return simple_table("", ["what", "found"], rows, notes)


def drift_table(row: CertificateRow) -> Table:
    """Return a table on whether a judge's marks have drifted."""
    from ...certify.watch import DRIFT_ALPHA

    body = row.body
    who = f"{body['judge']}, successor of {body['predecessor']}," if body["predecessor"] else body["judge"]
    title = f"{who} has moved" if body["moved"] else f"no sign that {who.rstrip(',')} has moved"
    rows = [["yes", share_words(body["yes"], signed=True)]]
    rows += [[name, _words(change, "+.3g")] for name, change in body["scores"].items()]
    notes = [
        f"{body['asked']} of {body['of']} answers of the gold set; evidence {body['evidence']:.3g} after "
        f"{body['after']} questions, a move is called at {1 / DRIFT_ALPHA:.0f}"
    ]
    return simple_table(
        f"{body['exam']} · {title} since {body['since']} · {row.day}", ["share or score", "change"], rows, notes
    )


def share_words(share: Mapping[str, Any], signed: bool = False) -> str:
    """Format a share with its interval, in percent."""
    percent = {name: None if share[name] is None else 100 * share[name] for name in ("value", "low", "high")}
    return _words(percent, "+.1f" if signed else ".1f", "%")


def _words(number: Mapping[str, Any], form: str, unit: str = "") -> str:
    value, low, high = (None if number[name] is None else f"{number[name]:{form}}" for name in ("value", "low", "high"))
    if value is None:
        return MISSING
    return f"{value}{unit}" if low is None else f"{value}{unit} [{low}, {high}]"


PICTURES = {CLEAN: "the reference", BLANK: "a white sheet", TEXT: "the prompt in type", OTHER: "another's reference"}
"""The words for pictures with a known right outcome."""
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
    "repeated": "another criterion of the question is the same",
    "reworded": "another criterion of the question asks the same",
    "not-yes-no": "yes or no does not answer it",
    "polarity": "a right picture gets the answer no",
    "negated": "asks whether something is absent",
}


def proof_tables(body: Mapping[str, Any]) -> list[Table]:
    """Return tables of pictures that pass and fail, of criteria, of corruptions, and of criteria to fix."""
    return [_pictures(body), _verdicts(body), _corruptions(body), _mend(body)]


def _pictures(body: Mapping[str, Any]) -> Table:
    rows = []
    for kind, counts in body["pictures"].items():
        if not any(counts[word] for word in ("passes", "fails", "undecided")):
            continue
        must = ["pass", "passes", "fails"] if kind == CLEAN else ["fail", "fails", "passes"]
        rows.append([PICTURES[kind], must[0], *(str(counts[word]) for word in (*must[1:], "undecided"))])
    guess, repeat = body["guessed"], body["repeats"]
    notes = []
    if guess["value"] is None:
        notes.append("without a picture: nothing decided")
    else:
        more = f"; {guess['undecided']} undecided" if guess["undecided"] else ""
        notes.append(f"without a picture: yes to {share_words(guess)} of the criteria it decides{more}")
        if guess["value"] > GUESSES:
            notes.append("this judge guesses: its yes without a picture is not a reason to fix a criterion")
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
    for row in body["impossible"]:
        together.setdefault((row["why"], row["questions"]), []).append(PICTURES.get(row["picture"], row["picture"]))
    return [
        f"not possible for {count} of {plural(body['questions'], 'question')}: {', '.join(names)} ({why})"
        for (why, count), names in together.items()
    ]


def _verdicts(body: Mapping[str, Any]) -> Table:
    rows = [[verdict, str(body["criteria"][verdict]), MEANING[verdict]] for verdict in VERDICTS]
    notes = [f"{plural(body['questions'], 'question')}, {plural(body['asked'], 'ask')}, {body['failed']} failed"]
    if body["examined"] is None:
        notes.append("the judge was not examined: faults it does not see may look like criteria to fix")
    return simple_table("", ["criteria", "how many", "what it means"], rows, notes, prose=("what it means",))


def _corruptions(body: Mapping[str, Any]) -> Table:
    rows = [
        [name, *(str(counts[word]) for word in ("criteria", "killed", "survived", "undecided"))]
        for name, counts in body["corruptions"].items()
        if counts["criteria"]
    ]
    heads = ["corruption", "criteria asked", "taken away", "survived", "undecided"]
    notes = ["survived: still met, though the corruption takes away what the criterion names"]
    return simple_table("", heads, rows, notes if rows else ["no reference was corrupted"])


def _mend(body: Mapping[str, Any]) -> Table:
    rows = []
    for criterion in body["mend"]:
        why = "; ".join(f"{reason['kind']}: {reason['detail']}" for reason in criterion["reasons"])
        rows.append([criterion["question"], criterion["criterion"], criterion["text"], why])
    counted = ", ".join(f"{REASONS.get(kind, kind)}: {count}" for kind, count in body["reasons"].items())
    title = "criteria to fix" if rows else "no criterion needs fixing"
    heads = ["question", "criterion", "text", "why"]
    return simple_table(title, heads, rows, [counted] if counted else [], names=2, prose=("text", "why"))
