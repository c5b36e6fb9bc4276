"""An open study: its design, items, questions and forms, read once from the store."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from ..core.errors import StoreError
from ..core.evaluator import row_name
from ..core.exam import Question
from ..core.images import decode
from ..exams import Kind, kind
from ..store import Store
from ..store.records import Drawing, kind_of, load_drawings, load_questions
from .design import AnswerField, ChoicePart, StudyDesign, check_form, make_form
from .records import Study, StudyItem, StudyRater, load_items, load_study
from .sampling import StudyPlace


@dataclass(frozen=True)
class OpenStudy:
    """A study with everything needed to show and answer it, except raters and answers, which are read each time."""

    store: Store
    study: Study
    items: dict[int, StudyItem]
    drawings: dict[str, Drawing]
    questions: dict[str, Question[Any]]
    kind: Kind[Any]

    @property
    def name(self) -> str:
        """The study's name."""
        return self.study.name

    @cached_property
    def design(self) -> StudyDesign:
        """The design with the changes made when the study was created."""
        return StudyDesign.model_validate(self.study.body["design"])

    def question(self, item: StudyItem) -> Question[Any]:
        """Return the question of an item, in the version that was drawn."""
        return self.questions[self.drawings[item.drawings[0]].question_hash]

    def image(self, drawing: str) -> str | None:
        """Return the hash of a drawing's image when the study was created, so that all raters see the same image."""
        image = self.study.body.get("images", {}).get(drawing)
        return str(image) if image else self.drawings[drawing].image

    def form(self, place: StudyPlace) -> list[AnswerField]:
        """Return the fields of a place."""
        return check_form(place.check) if place.check is not None else self.item_form(place.item)

    def item_form(self, n: int) -> list[AnswerField]:
        """Return the fields about an item."""
        return _form(self, n)

    def __hash__(self) -> int:
        return id(self)

    @property
    def scale(self) -> str:
        """The scale on which pairs are compared."""
        return next((part.name for part in self.design.form if isinstance(part, ChoicePart)), "")

    def row(self, drawing: str) -> str:
        """Return the name of a drawing's painter in tables."""
        drawn = self.drawings[drawing]
        return row_name(drawn.label, drawn.strategy)


@lru_cache(maxsize=4096)
def _form(study: OpenStudy, n: int) -> list[AnswerField]:
    item = study.items[n]
    criteria = study.kind.protocol.criteria(study.question(item))
    return make_form(study.design, criteria, len(item.drawings))


def open_study(store: Store, name: str) -> OpenStudy:
    """Return the study of this name.

    Raises:
        StoreError: There is no such study, or one of its drawings is gone.
    """
    study = load_study(store, name)
    exam_kind = kind(kind_of(store, study.exam))
    items = {item.n: item for item in load_items(store, name)}
    wanted = {id for item in items.values() for id in item.drawings}
    drawings = {drawing.id: drawing for drawing in load_drawings(store, study.exam) if drawing.id in wanted}
    if lost := sorted(wanted - drawings.keys()):
        raise StoreError(f"the study {name}: the drawing {lost[0]} is no longer in {store.url}")
    return OpenStudy(store, study, items, drawings, load_questions(store, study.exam, exam_kind.rubric), exam_kind)


def places_of(rater: StudyRater) -> list[StudyPlace]:
    """Return a rater's places in their order."""
    return [StudyPlace.from_json(place) for place in rater.body.get("places", [])]


SIZE_STEP = 64 * 1024
"""Files are padded to multiples of this many bytes, so that their sizes reveal little."""
QUALITY = 90
MAX_COMMENT = 65_537
"""The longest comment in a JPEG, including its marker, in bytes."""


def normal_picture(data: bytes, side: int) -> bytes:
    """Return an image fitted on a white square of `side` pixels, as a JPEG without metadata.

    Raises:
        limner.core.images.BadImage: The image cannot be decoded within the limits.
    """
    from PIL import Image

    image = decode(data)
    scale = side / max(image.size)
    width, height = (max(1, round(length * scale)) for length in image.size)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    canvas = Image.new("RGB", (side, side), "white")
    canvas.paste(image, ((side - width) // 2, (side - height) // 2))
    buffer = io.BytesIO()
    canvas.save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return pad_jpeg(buffer.getvalue())


def pad_jpeg(jpeg: bytes) -> bytes:
    """Pad a JPEG with empty comments to the next multiple of `SIZE_STEP` bytes."""
    missing = -len(jpeg) % SIZE_STEP
    if 0 < missing < 4:
        missing += SIZE_STEP  # A comment takes at least four bytes.
    comments = b""
    while missing:
        size = min(missing, MAX_COMMENT)
        if 0 < missing - size < 4:
            size -= 4
        comments += b"\xff\xfe" + (size - 2).to_bytes(2, "big") + bytes(size - 4)
        missing -= size
    return jpeg[:2] + comments + jpeg[2:]


def shown_inputs(study: OpenStudy, question: Question[Any]) -> list[str | None]:
    """Return the hashes of the pictures that came with the question, None if absent, if raters may see them."""
    return [picture.sha256 for picture in question.inputs] if study.design.show.inputs else []
