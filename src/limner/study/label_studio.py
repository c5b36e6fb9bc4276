"""Label Studio: export of tasks and a labelling configuration, export and import of annotations.

A task has its item's number and the order of its pictures, never a painter. Criteria differ between questions, so they
are in the task, and the configuration repeats one control over them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..core.errors import DataError
from .answers import Click, counted_answers, shown_value, stored_click
from .forms import CHOICE, FIRST, SECOND, SKIP, AnswerField
from .open import OpenStudy, normal_picture, places_of, shown_inputs
from .places import StudyPlace
from .records import StudyAnswer, load_raters

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
    folder = images.name if images is not None else study.name
    if images is not None:
        _write_images(study, images)
    tasks = [make_task(study, item, folder, task_order(study, item)) for item in study.items]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _write_images(study: OpenStudy, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.xml").write_text(make_config(study), "utf-8")
    for item in study.items.values():
        drawn = [("", study.image(item.drawings[index])) for index in task_order(study, item.n)]
        before = [("before", sha256) for sha256 in shown_inputs(study, study.question(item))]
        for position, (kind, image) in (*enumerate(drawn), *enumerate(before)):
            if image is not None:
                data = normal_picture(study.store.blobs.get(image), study.design.show.side)
                (folder / picture_name(item.n, position, kind)).write_bytes(data)


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
    if images is not None:
        _write_images(study, images)
    folder = images.name if images is not None else study.name
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
