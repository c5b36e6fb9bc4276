"""Answers for and from other programs: CSV in two forms, JSON lines, and tasks with annotations of Label Studio.

A task of Label Studio has its item's number and the order of its pictures, never a painter. Criteria differ between
questions, so they are in the task, and the configuration repeats one control over them.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..core.data_rows import Problems, json_lines, plain_cell, read_lines, write_csv
from ..core.errors import DataError
from ..core.evaluator import row_name
from ..store.records import Drawing
from .answers import RANK, Click, counted_answers, listed_marks, shown_value, stored_click
from .design import CHOICE, FIRST, SECOND, SKIP, AnswerField
from .open import OpenStudy, normal_picture, places_of, shown_inputs
from .records import StudyAnswer, load_raters
from .sampling import StudyPlace

COLUMNS = ("rater", "exam", "id", "painter", "strategy", "seed", "criterion", "value", "reason", "seconds")
PAIRS = ("rater", "exam", "id", "first", "second", "choice", "shown_first")
PAIR_EXTRAS = ("reason", "seconds")
"""Further columns of pairs, if they are not empty."""
REPEAT = "repeat"
"""A further column if items were repeated: 1 for the second showing."""
THING_PATTERN = re.compile(r"(.*\S)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.DOTALL)
"""A listed thing in a mark's reason: what it is, and its place in brackets."""
Row = dict[str, Any]


def answer_rows(study: OpenStudy) -> list[Row]:
    """Return the answers of a study that count: a row for each drawing and criterion, or for each pair."""
    places = {
        (rater.rater, place.item, place.repeat): place
        for rater in load_raters(study.store, study.name)
        for place in places_of(rater)
    }
    rows: list[Row] = []
    for answer in counted_answers(study.store, study.name):
        if answer.item < 0:
            continue
        item = study.items[answer.item]
        about = {"rater": answer.rater, "exam": study.study.exam, "id": item.question_id}
        more = {"reason": answer.reason, "seconds": answer.seconds, REPEAT: answer.repeat}
        if study.design.unit == "pair":
            place = places.get((answer.rater, answer.item, answer.repeat))
            order = place.order if place else ()
            first, second = (drawing_name(study.drawings[drawing]) for drawing in item.drawings)
            names = {"first": first, "second": second}
            shown = None if not order else "first" if order[0] == 0 else "second"
            choice = answer.value if answer.field == CHOICE else None
            rows.append(about | names | {"choice": choice, "shown_first": shown} | more)
            continue
        parts = _split_answer(study, item.n, answer.field, answer.value, answer.reason)
        for drawing, criterion, value, reason in parts:
            drawn = study.drawings[drawing]
            slot = {"painter": drawn.label, "strategy": drawn.strategy, "seed": drawn.seed}
            rows.append(about | slot | {"criterion": criterion, "value": value} | more | {"reason": reason})
    return rows


def _split_answer(
    study: OpenStudy, item: int, name: str, value: Any, reason: str | None
) -> Iterator[tuple[str, str, Any, str | None]]:
    """Yield drawing, criterion, value and reason of every row of one answer."""
    drawings = study.items[item].drawings
    if name.startswith(f"{RANK}/"):
        yield drawings[int(name.partition("/")[2]) - 1], RANK, value, reason
        return
    field = next((each for each in study.item_form(item) if each.name == name), None)
    if field is not None and field.kind == "listing":
        for mark in listed_marks(field, value["items"]):
            thing = mark.criterion.count("/") > 1
            # Only a closed list shows that nothing of a sort is there.
            if thing or value["done"]:
                yield drawings[0], mark.criterion, mark.value, mark.reason or None
        return
    yield drawings[0], name, value, reason


def drawing_name(drawing: Drawing) -> str:
    """Return a drawing's name among those of its question: its painter's row, with the seed unless it is 0."""
    return row_name(drawing.label, drawing.strategy) + (f" #{drawing.seed}" if drawing.seed else "")


def write_answers(rows: Sequence[Row], pairs: bool, form: str) -> str:
    """Return the rows as ``csv`` or ``jsonl``."""
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    extras = [name for name in PAIR_EXTRAS if any(row[name] is not None for row in rows)] if pairs else []
    columns = [*(PAIRS if pairs else COLUMNS), *extras]
    if any(row[REPEAT] for row in rows):
        columns.append(REPEAT)
    return write_csv(columns, rows)


def read_rows(file: Path) -> list[tuple[int, Row]]:
    """Read the rows of a CSV or a file of JSON lines, with their line numbers; empty cells are None.

    Raises:
        DataError: The file is neither, or a required column is missing.
    """
    text = read_lines(file)
    if text and text[0].lstrip().startswith("{"):
        problems = Problems()
        rows = [(line, {key: _plain(value) for key, value in row.items()}) for line, row in json_lines(file, problems)]
        problems.settle()
    else:
        reader = csv.DictReader(io.StringIO("\n".join(text)), restkey="", strict=True)
        try:
            rows = [(reader.line_num, {k.strip(): _plain(plain_cell(v)) for k, v in row.items()}) for row in reader]
        except csv.Error as error:
            raise DataError(f"not a CSV: {error}", file=file, line=reader.line_num) from error
    if not rows:
        raise DataError("the file has no rows", file=file)
    needed = PAIRS[:6] if "choice" in rows[0][1] else ("rater", "exam", "id", "painter", "criterion", "value")
    for line, row in rows:
        if missing := [name for name in needed if name not in row]:
            raise DataError(f"the column {missing[0]} is missing; it has: {', '.join(row)[:200]}", file=file, line=line)
        if "" in row:
            raise DataError("the row has more cells than columns", file=file, line=line)
    return rows


def _plain(value: Any) -> Any:
    return (value.strip() or None) if isinstance(value, str) else value


def read_thing(words: str) -> tuple[str, str]:
    """Parse a listed thing and its place from a mark's reason.

    >>> read_thing("a second sun (upper left)")
    ('a second sun', 'upper left')
    """
    match = THING_PATTERN.fullmatch(words.strip())
    return (match[1], match[2] or "not said") if match else (words.strip(), "not said")


def shown_order(row: Mapping[str, Any], turned: bool) -> tuple[int, ...]:
    """Return the order in which a pair was shown; `turned` means that the row names the drawings in reverse."""
    shown = row.get("shown_first")
    if shown not in ("first", "second"):
        return ()
    return (0, 1) if (shown == "first") != turned else (1, 0)


LOCAL_FILES = "/data/local-files/?d="
"""The prefix of files in a local folder in Label Studio."""
SEPARATOR = " | "
"""The separator of sort, thing and place in a listing."""
DONE = "nothing more"
RaterAnswer = tuple[str, int, tuple[int, ...], list[Click]]
"""A rater, an item's number, the order shown, and the answers."""


def task_order(study: OpenStudy, item: int) -> tuple[int, ...]:
    """Return the order of an item's pictures in its task: shuffled, but reproducible."""
    size = len(study.items[item].drawings)
    return tuple(random.Random(f"{study.name}\n{item}").sample(range(size), size))


def make_task(study: OpenStudy, item: int, folder: str, order: Sequence[int]) -> dict[str, Any]:
    """Return the task of one item."""
    question, form = study.question(study.items[item]), study.item_form(item)
    data: dict[str, Any] = {"study": study.name, "item": item, "order": list(order)}
    for position in range(len(order)):
        data[f"image{position + 1}"] = f"{LOCAL_FILES}{folder}/{picture_name(item, position)}"
    for number in range(1, len(shown_inputs(study, question)) + 1):
        data[f"before{number}"] = f"{LOCAL_FILES}{folder}/{picture_name(item, number - 1, 'before')}"
    if study.design.show.prompt:
        data["prompt"] = question.prompt
    data["criteria"] = [
        {"name": field.name, "text": field.text, "choices": [{"value": word} for _, word in field.values]}
        for field in form
        if field.kind == "criterion"
    ]
    return {"id": item, "data": data}


def picture_name(item: int, position: int, kind: str = "") -> str:
    """Return the file name of a task's picture."""
    return f"{item:05}-{kind}{position + 1}.jpg"


def write_tasks(study: OpenStudy, images: Path | None = None) -> str:
    """Return all tasks as JSON; with a folder, write the pictures and ``config.xml`` there."""
    folder = _write_images(study, images)
    tasks = [make_task(study, item, folder, task_order(study, item)) for item in study.items]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _write_images(study: OpenStudy, folder: Path | None) -> str:
    """Write the pictures and the configuration if there is a folder for them; return its name in tasks."""
    if folder is None:
        return study.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.xml").write_text(make_config(study), "utf-8")
    for item in study.items.values():
        drawn = [("", study.image(item.drawings[index])) for index in task_order(study, item.n)]
        before = [("before", sha256) for sha256 in shown_inputs(study, study.question(item))]
        for position, (kind, image) in (*enumerate(drawn), *enumerate(before)):
            if image is not None:
                data = normal_picture(study.store.blobs.get(image), study.design.show.side)
                (folder / picture_name(item.n, position, kind)).write_bytes(data)
    return folder.name


def make_config(study: OpenStudy) -> str:
    """Return the labelling configuration of a study's tasks; their pictures before and after have numbers."""
    form = study.item_form(next(iter(study.items)))
    size = len(study.items[next(iter(study.items))].drawings)
    lines = ["<View>"]
    if study.design.show.prompt:
        lines.append('  <Text name="prompt" value="$prompt"/>')
    before = max(len(shown_inputs(study, study.question(item))) for item in study.items.values())
    names = [*(f"before{n}" for n in range(1, before + 1)), *(f"image{n}" for n in range(1, size + 1))]
    lines += [f'  <Image name="{name}" value="${name}" zoom="true"/>' for name in names]
    repeated = False
    for field in form:
        if field.kind == "criterion" and not repeated:
            repeated = True
            lines += [
                '  <Repeater on="$criteria" indexFlag="{{idx}}">',
                '    <Text name="text-{{idx}}" value="$criteria[{{idx}}].text"/>',
                '    <Choices name="criterion-{{idx}}" toName="text-{{idx}}" value="$criteria[{{idx}}].choices" '
                'choice="single-radio"/>',
                "  </Repeater>",
            ]
        elif field.kind != "criterion":
            lines += _control(field)
    lines.append(
        '  <TextArea name="skip" toName="image1" placeholder="Why you cannot answer this" maxSubmissions="1"/>'
    )
    return "\n".join([*lines, "</View>"]) + "\n"


def _control(field: AnswerField) -> list[str]:
    name = quoteattr(field.name.replace("/", "-"))
    head = f"  <Header value={quoteattr(field.text)}/>"
    if field.kind == "listing":
        sorts = escape(SEPARATOR.join(("sort", "what", "where")))
        return [
            head,
            f'  <TextArea name={name} toName="image1" placeholder="{sorts}" editable="true"/>',
            f'  <Choices name={quoteattr(field.name + "-done")} toName="image1"><Choice value="{DONE}"/></Choices>',
        ]
    if field.kind == "choice":
        choices = "".join(f'<Choice value="{value}"/>' for value, _ in field.values)
        return [head, f'  <Choices name={name} toName="image1" choice="single-radio">{choices}</Choices>']
    numbers = [value for value, _ in field.values if isinstance(value, int)]
    ends = f' min="{min(numbers)}" max="{max(numbers)}" step="1"' if numbers else ""
    return [head, f'  <Number name={name} toName="image1"{ends}/>']


def write_annotations(study: OpenStudy, images: Path | None = None) -> str:
    """Return the answers that count as tasks with annotations, without repeated items."""
    folder = _write_images(study, images)
    answers: dict[int, dict[str, list[StudyAnswer]]] = {}
    for answer in counted_answers(study.store, study.name):
        if answer.item > 0 and not answer.repeat:
            answers.setdefault(answer.item, {}).setdefault(answer.rater, []).append(answer)
    orders = {
        (rater.rater, place.item): place.order
        for rater in load_raters(study.store, study.name)
        for place in places_of(rater)
        if not place.repeat and place.order
    }
    tasks = []
    for item, by_rater in sorted(answers.items()):
        order = task_order(study, item)
        task = make_task(study, item, folder, order)
        places = {rater: StudyPlace(item, 0, order) for rater in by_rater}
        task["annotations"] = [
            {
                "completed_by": {"email": rater},
                "lead_time": sum(answer.seconds or 0.0 for answer in given),
                "shown": list(orders.get((rater, item), ())),
                "result": [
                    result for answer in given for result in _results(study, item, places[rater], answer, task["data"])
                ],
            }
            for rater, given in sorted(by_rater.items())
        ]
        tasks.append(task)
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _results(
    study: OpenStudy, item: int, place: StudyPlace, answer: StudyAnswer, data: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield one answer in Label Studio's form, by the task's order of pictures."""
    if answer.field == SKIP:
        yield _result("skip", "textarea", {"text": [answer.reason or "skipped"]})
        return
    kind, words = next((field.kind, field.values) for field in study.item_form(item) if field.name == answer.field)
    name, value = shown_value(place, answer.field, answer.value)
    if kind == "criterion":
        n = [criterion["name"] for criterion in data["criteria"]].index(name)
        yield _result(f"criterion-{n}", "choices", {"choices": [dict(words)[value]]}, f"text-{n}")
    elif kind == "listing":
        lines = [SEPARATOR.join((thing["sort"], thing["item"], thing["place"])) for thing in value["items"]]
        yield _result(name, "textarea", {"text": lines})
        if value["done"]:
            yield _result(f"{name}-done", "choices", {"choices": [DONE]})
    elif kind == "choice":
        yield _result(CHOICE, "choices", {"choices": [value]})
    else:
        yield _result(name.replace("/", "-") if kind == "rank" else name, "number", {"number": value})


def _result(name: str, type: str, value: dict[str, Any], of: str = "image1") -> dict[str, Any]:
    return {"from_name": name, "to_name": of, "type": type, "value": value}


def read_annotations(study: OpenStudy, file: Path) -> Iterator[RaterAnswer]:
    """Yield the answers in a JSON export of Label Studio.

    Raises:
        DataError: The file is not such an export, or is of another study.
    """
    try:
        tasks = json.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", file=file) from error
    for task in tasks:
        try:
            data = task["data"]
            item, order = int(data["item"]), tuple(int(n) for n in data["order"])
            if data["study"] != study.name or item not in study.items:
                raise ValueError(f"item {item} of the study {data['study']!r} is not in {study.name}")
            if sorted(order) != list(range(len(study.items[item].drawings))):
                raise ValueError("its order does not match its pictures")
            for annotation in task.get("annotations", []):
                if annotation.get("was_cancelled"):
                    continue
                clicks = _clicks(study, item, order, data, annotation)
                if clicks:
                    shown = tuple(annotation.get("shown", order)) if study.design.unit == "pair" else order
                    yield _rater(annotation.get("completed_by")), item, shown, clicks
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            task_id = task.get("id") if isinstance(task, dict) else None
            raise DataError(f"not a task of this study: {error}", file=file, id=str(task_id)) from error


def _rater(who: Any) -> str:
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    if isinstance(who, int):
        return f"rater-{who}"
    if not isinstance(who, str) or not who:
        raise ValueError("an annotation has no author: completed_by is missing")
    return who


def _clicks(
    study: OpenStudy, item: int, order: tuple[int, ...], data: dict[str, Any], annotation: dict[str, Any]
) -> list[Click]:
    form = {field.name: field for field in study.item_form(item)}
    place = StudyPlace(item, 0, order)
    clicks: list[Click] = []
    results = annotation.get("result", [])
    seconds = annotation.get("lead_time")
    each = float(seconds) / max(1, len(results)) if isinstance(seconds, int | float) else None
    done = {result["from_name"] for result in results if result["from_name"].endswith("-done")}
    for result in results:
        name, value = result["from_name"], result["value"]
        if name in done:
            continue
        head, _, number = name.rpartition("-")
        reason: str | None = None
        answer: Any = 1
        if name == SKIP:
            reason = " ".join(value["text"])
        elif head == "criterion":
            name = data["criteria"][int(number)]["name"]
            answer = {word: answer for answer, word in form[name].values}[value["choices"][0]]
        elif head == "rank":
            name, answer = f"rank/{number}", int(value["number"])
        elif name == CHOICE or result.get("type") == "pairwise":
            name = CHOICE
            answer = value["choices"][0] if "choices" in value else {"left": FIRST, "right": SECOND}[value["selected"]]
        elif form[name].kind == "listing":
            things = [_thing(line, form[name].sorts) for line in value["text"]]
            answer = {"items": things, "done": f"{name}-done" in done}
        else:
            number = value["number"] if "number" in value else value["rating"]
            answer = int(number) if number == int(number) else number
        clicks.append(stored_click(place, list(form.values()), Click(name, answer, reason, each)))
    listed = {click.field for click in clicks}
    for name in sorted(done):
        listing = name.removesuffix("-done")
        if listing not in listed and listing in form:
            clicks.append(Click(listing, {"items": [], "done": True}, None, each))
    return clicks


def _thing(line: str, sorts: Sequence[str]) -> dict[str, str]:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 3 or parts[0] not in sorts or not all(parts):
        raise ValueError(f"{line[:60]!r} must be: sort | what | where, with a sort of {', '.join(sorts)}")
    return {"sort": parts[0], "item": parts[1], "place": parts[2]}
