"""The layout of an exam's data files, as exam.toml declares it, and the records that it makes of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, field_validator, model_validator

from ...core.data_files import Columns, embedded_reference, find_reference, leaves_folder, parse_json_text
from ...core.data_rows import TABLES, EmbeddedImage, Problems, read_rows, shorten
from ...core.exam import Reference
from ...core.images import TooLargeImage
from ...core.json_text import check_depth
from ...core.schema import LONE_SURROGATE, Id, Names, StrictModel, without_controls

ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "prompt_id", "index", "key"),
    "prompt": ("prompt", "instruction", "question", "text"),
    "reference": (),
    "inputs": (),
    "ignore": (),
}
"""What columns may be declared for -> the columns in which it is looked for if none is declared."""
MAX_ID = 200
_FIELD = re.compile(r"\{(\w+)\}")
_ID: TypeAdapter[str] = TypeAdapter(Annotated[Id, Field(min_length=1, max_length=MAX_ID)])
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s+")


class DataFiles(StrictModel):
    """The files with the data.

    Attributes:
        path: A folder or a file, relative to exam.toml.
        files: Patterns of the files in the folder; ``{name}`` in place of a part makes a column of it. By default,
            all data files.
        levels: The names of the levels of nested JSON objects, outermost first; see `limner.core.data_rows.json_rows`.
        images: The folder of the pictures, relative to `path`. By default, pictures are looked for next to the file
            that names them, then in `path`, then in its folders ``images`` and ``data``.
    """

    path: str = Field(default="data", min_length=1)
    files: Names = ()
    levels: tuple[str, ...] | None = None
    images: str = ""

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        for name in (*self.files, self.images or "images"):
            if leaves_folder(name):
                raise ValueError(f"{shorten(name)!r} leaves the data folder; make path a folder that holds both")
        for pattern in self.files:
            try:
                _path_pattern(pattern)
            except re.error as error:
                raise ValueError(f"{shorten(pattern)!r}: {error}") from error
        return self


class TagColumn(StrictModel):
    """The column with the values of a tag.

    Attributes:
        column: Its name.
        names: Value -> its name in results; ``*`` stands for any characters. Other values are kept.
    """

    column: str = Field(min_length=1)
    names: dict[str, str] = Field(default_factory=dict)

    def value(self, row: Mapping[str, Any]) -> str:
        """Return the tag's value in a row; empty if it has none."""
        value = find_value(row, self.column)
        text = "" if value is None else _text(value)
        return next((name for pattern, name in self.names.items() if fnmatchcase(text, pattern)), text)


def _as(name: str) -> BeforeValidator:
    """Return a validator that accepts a text for an object with only this field."""
    return BeforeValidator(lambda value: {name: value} if isinstance(value, str) else value)


class DataLayout(StrictModel):
    """The part of an exam.toml that says where the data is and what its columns mean.

    Names of columns are compared without case; ``a.b`` is the entry ``b`` of the objects in column ``a``. A name that
    ends in a question mark is one that the data may lack.

    Attributes:
        data: The files; a text is their path.
        columns: ``id`` (several are joined by a slash), ``prompt``, ``reference`` and ``inputs`` -> the columns with
            them; ``ignore`` -> columns without use. Any other name is a new one for a column.
        tags: Tag -> column.
    """

    data: Annotated[DataFiles, _as("path")] = DataFiles()
    columns: dict[str, Names] = Field(default_factory=dict)
    tags: dict[str, Annotated[TagColumn, _as("column")]] = Field(default_factory=dict)

    @field_validator("columns")
    @classmethod
    def _has_single_columns(cls, columns: dict[str, Names]) -> dict[str, Names]:
        for name, names in columns.items():
            if name not in ("id", "inputs", "ignore") and len(names) != 1:
                raise ValueError(f"{name}: expected the name of one column")
        return columns

    def with_columns(self, columns: Columns) -> Self:
        """Return the layout with other columns, as ``--columns`` names them; several are separated by commas."""
        return self.model_copy(
            update={"columns": {**self.columns, **{name: tuple(text.split(",")) for name, text in columns.items()}}}
        )


@dataclass(frozen=True)
class Record:
    """One record of the data.

    Attributes:
        id: Its id, which is unique in the data.
        prompt: The text of what is to be drawn.
        tags: Tag -> value; without those that the record lacks.
        reference: The reference picture.
        inputs: The pictures that a painter gets.
        fields: The other columns, by their names in the data; in place of embedded pictures, the word "picture".
        file: The file; `line` the line (in a Parquet file, the row).
    """

    id: str
    prompt: str
    tags: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None
    inputs: tuple[Reference, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    file: Path = Path()
    line: int = 0

    def field(self, name: str) -> Any:
        """Return the value of a column, or at a path such as ``a.b``; None if there is none."""
        return find_value(self.fields, name)


def read_records(folder: Path, layout: DataLayout, problems: Problems, *, prompts: bool = True) -> Records:
    """Return the records of a folder or file; `problems` receives what is wrong, with file and line.

    Records with problems are left out; `problems` must be settled before the others are used. Without `prompts`,
    records need none, as in files with results.

    Raises:
        DataError: A file cannot be read at all.
        UsageError: One is a Parquet file, and polars is not installed.
    """
    records = Records(folder if folder.is_dir() else folder.parent, layout, problems, prompts)
    files = list(_files(folder, layout.data, problems))
    patterns = " or ".join(map(repr, layout.data.files)) or f"a name that ends in {', '.join(TABLES)}"
    nothing = "no record found" if files else f"no file fits {patterns}"
    for file, parts in files:
        rows = list(read_rows(file, problems, layout.data.levels))
        within = file.relative_to(records.folder).with_suffix("").as_posix()
        for number, (line, row) in enumerate(rows, 1):
            default = within if len(rows) == 1 < len(files) else f"{within}_{number}"
            records.take(file, line, parts | row, default)
    if not records.records and not problems.found:
        problems.add(nothing, folder)
    records.notes += _absent_pictures(records.records)
    records.absent += records.absent_columns() if files else [(("data", "files"), f"{nothing} in {folder}")]
    return records


def read_list(value: Any) -> list[Any]:
    """Return the entries of a checklist: a list, an object's values, JSON text of either, or a line for each.

    >>> read_list("- a house\\n- a tree"), read_list('["a", "b"]'), read_list({"1": "a"})
    (['a house', 'a tree'], ['a', 'b'], ['a'])

    Raises:
        ValueError: It is none of these.
    """
    value = parse_json_text(value) or value
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    if value is None or not isinstance(value, str):
        raise ValueError(f"expected a list, JSON text or lines, not {type(value).__name__}")
    if value.lstrip().startswith(("[", "{")):
        raise ValueError(f"not JSON: {shorten(value)}")
    return [_BULLET.sub("", line).strip() for line in value.splitlines() if line.strip()]


def find_value(row: Mapping[str, Any], name: str) -> Any:
    """Return the value of a column, compared without case, or at a path such as ``a.b``; None if there is none."""
    if name in row:
        return row[name]
    name = name.removesuffix("?")
    wanted = name.casefold()
    for column, value in row.items():
        if column.casefold() == wanted:
            return value
    head, dot, rest = name.partition(".")
    inside = find_value(row, head) if dot else None
    inside = parse_json_text(inside) or inside
    return find_value(inside, rest) if isinstance(inside, Mapping) else None


def _files(path: Path, data: DataFiles, problems: Problems) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the data files, each with the columns that are in its path."""
    if not path.is_dir():
        yield path, {}
        return
    matches = dict[Path, dict[str, Any]]()
    for pattern in data.files:
        shape = _path_pattern(pattern)
        for file in sorted(path.glob(_FIELD.sub("*", pattern))):
            if match := shape.fullmatch(file.relative_to(path).as_posix()):
                matches.setdefault(file, match.groupdict())
    if not data.files:
        matches = {file: {} for file in sorted(path.rglob("*")) if file.suffix.lower() in TABLES}
    for file, parts in matches.items():
        if not file.resolve().is_relative_to(path.resolve()):
            problems.add(f"leads out of the folder {path} through a link", file)
        elif file.is_file():
            yield file, parts


def _path_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of files as a regular expression with a group for each ``{name}``."""
    special = {"**/": "(?:.+/)?", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*|\?|\{\w+\})", pattern)
    return re.compile(
        "".join(_FIELD.sub(r"(?P<\1>[^/]+)", special.get(w) or (w if _FIELD.match(w) else re.escape(w))) for w in words)
    )


class Records:
    """The records of the data, made of its rows.

    Attributes:
        records: The records in order.
        columns: The names of all columns, in order.
        used: The columns with id, prompt, pictures and tags, in lower case.
        absent: The declared columns that no row has: the place of the declaration, and a message.
        notes: Remarks on this copy of the data, such as absent pictures.
    """

    def __init__(self, folder: Path, layout: DataLayout, problems: Problems, prompts: bool) -> None:
        self.folder, self.layout, self.problems, self.prompts = folder, layout, problems, prompts
        self.records: list[Record] = []
        self.columns: dict[str, None] = {}
        self.used = {tag.column.casefold().removesuffix("?") for tag in layout.tags.values()}
        self.absent: list[tuple[tuple[str, str], str]] = []
        self.notes: list[str] = []
        self._new_names = {names[0].casefold(): new for new, names in layout.columns.items() if new not in ALIASES}
        self._places: dict[str, str] = {}

    def unused(self, names: Iterable[str]) -> list[str]:
        """Return the columns that neither the layout nor `names`, such as those of criteria and prompts, use."""
        plain = [name.removesuffix("?").casefold() for name in names]
        used = self.used | {part for name in plain for part in (name, name.partition(".")[0])}
        return [column for column in self.columns if column.casefold() not in used]

    def take(self, file: Path, line: int, row: dict[str, Any], default: str) -> None:
        """Add the record of a row, or what is wrong with it; `default` is its id if it has none."""
        id = None
        try:
            check_depth(row)
            row = _clean(row)
            row = {self._new_names.get(column.casefold(), column): value for column, value in row.items()}
            self.columns |= dict.fromkeys(row)
            id = self._id(row, default)
            if id in self._places:
                raise ValueError(f"this id is already used in {self._places[id]}; it may be made of several columns")
            place = f"{file.relative_to(self.folder)}:{line}"
            self._places[id] = place
            self.records.append(self._record(id, row, file, line))
        except ValidationError as error:
            self.problems.add(error.errors()[0]["msg"].removeprefix("Value error, "), file, line)
        except ValueError as error:
            self.problems.add(str(error), file, line, None if id is None else shorten(id))

    def absent_columns(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the place of each declared column that no row has, and a message."""
        present = set(map(str.casefold, self.columns))
        declared = [(tag.column, tag.column, ("tags", name)) for name, tag in self.layout.tags.items()]
        for word, names in self.layout.columns.items():
            if word != "ignore":
                declared += [(name if word in ALIASES else word, name, ("columns", word)) for name in names]
        for here, name, place in declared:
            optional = name.endswith("?") or not self.columns
            if not optional and not present & {here.casefold(), here.partition(".")[0].casefold()}:
                there = ", ".join(self.columns)
                yield place, f"no row has a column {name!r}; there are: {there}. If data may lack it, write '{name}?'"

    def _find(self, row: Mapping[str, Any], word: str) -> dict[str, Any]:
        """Return the columns for a word such as ``prompt``, with their values."""
        present = (name for name in ALIASES[word] if find_value(row, name) is not None)
        names = self.layout.columns.get(word) or tuple(present)[:1]
        self.used.update(name.casefold().removesuffix("?") for name in names)
        return {name: find_value(row, name) for name in names}

    def _id(self, row: Mapping[str, Any], default: str) -> str:
        parts = self._find(row, "id")
        if empty := next((name for name, value in parts.items() if value is None), None):
            raise ValueError(f"nothing in column {empty!r}, which is part of the id")
        return _ID.validate_python("/".join(map(_text, parts.values())) if parts else default)

    def _record(self, id: str, row: Mapping[str, Any], file: Path, line: int) -> Record:
        ((column, prompt),) = self._find(row, "prompt").items() or [("prompt", None)]
        if self.prompts and not (isinstance(prompt, str) and prompt.strip()):
            raise ValueError(f"no text in column {column!r}; the columns are {shorten(', '.join(row))}")
        tags = {name: value for name, tag in self.layout.tags.items() if (value := tag.value(row))}
        references = tuple(self._pictures(row, "reference", id, file))
        if len(references) > 1:
            raise ValueError(f"it has {len(references)} reference pictures; there may be one")
        inputs = tuple(self._pictures(row, "inputs", id, file))
        apart = {
            name.casefold().removesuffix("?") for word in ("id", "prompt", "ignore") for name in self._find(row, word)
        }
        fields = {name: _describe_pictures(value) for name, value in row.items() if name.casefold() not in apart}
        return Record(id, prompt or "", tags, next(iter(references), None), inputs, fields, file, line)

    def _pictures(self, row: Mapping[str, Any], word: str, id: str, file: Path) -> Iterator[Reference]:
        """Yield the pictures in the columns for a word."""
        for column, value in self._find(row, word).items():
            value = parse_json_text(value) or value
            entries = value if isinstance(value, list) else [value]
            for number, entry in enumerate(entries, 1):
                name = f"{id}/{column}/{number}" if len(entries) > 1 else f"{id}/{column}"
                if entry and (picture := self._picture(row, entry, name, file)):
                    yield picture

    def _picture(self, row: Mapping[str, Any], entry: Any, name: str, file: Path) -> Reference | None:
        """Return the picture that an entry names or holds; one beyond the limits of size is absent."""
        entry = entry.get("path") if isinstance(entry, Mapping) else entry
        if isinstance(entry, str):
            name = entry.strip()
        elif not isinstance(entry, EmbeddedImage):
            raise ValueError(f"{name}: expected the path of a picture, not {type(entry).__name__}")
        try:
            if isinstance(entry, EmbeddedImage):
                return embedded_reference(entry, name)
            return self._find_picture(row, name, file) if name else None
        except TooLargeImage as error:
            self.notes.append(f"{error}; it counts as absent")
            return Reference(name)

    def _find_picture(self, row: Mapping[str, Any], name: str, file: Path) -> Reference:
        """Return a picture in one of the folders where they may be."""
        images = _FIELD.sub(lambda match: _text(find_value(row, match[1])), self.layout.data.images)
        near = file.parent.relative_to(self.folder).as_posix()
        if leaves_folder(name) or leaves_folder(images or "images"):
            raise ValueError(f"image path {shorten(f'{images} {name}'.strip())!r} leaves the folder {self.folder}")
        for folder in [images] if images else [near, ".", "images", "data"]:
            reference = find_reference(self.folder, (PurePosixPath(folder) / name).as_posix())
            if reference.path is not None:
                return replace(reference, name=name)
        return Reference(name)


def _describe_pictures(value: Any) -> Any:
    if isinstance(value, list):
        return [_describe_pictures(entry) for entry in value]
    return "picture" if isinstance(value, EmbeddedImage) else value


def _text(value: Any) -> str:
    """Return a text, number or truth value as text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    raise ValueError(f"expected a text or a number, not {type(value).__name__}")


def _clean(value: Any) -> Any:
    """Return a value that can be shown and stored: without missing values, control characters replaced by spaces."""
    if isinstance(value, str):
        if value.isprintable():
            return value
        if LONE_SURROGATE.search(value):
            raise ValueError("a text contains half of a surrogate pair")
        return without_controls(value)
    if isinstance(value, dict):
        inside = {_clean(name): _clean(inner) for name, inner in value.items()}
        return {name: inner for name, inner in inside.items() if inner is not None}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bytes) or value in (math.inf, -math.inf):
        raise ValueError(f"expected texts and numbers, not {'bytes' if isinstance(value, bytes) else value}")
    return value


def _absent_pictures(records: Sequence[Record]) -> Iterator[str]:
    """Yield notes on pictures that are named in the data but absent."""
    references = [record.reference for record in records if record.reference]
    inputs = [picture for record in records for picture in record.inputs]
    for pictures, words in (
        (references, "reference images are absent: controls skip those questions"),
        (inputs, "input pictures are absent: those questions cannot be drawn"),
    ):
        if absent := [picture.name for picture in pictures if picture.path is None and picture.load is None]:
            yield f"{len(absent)} of {len(pictures)} {words} (first: {shorten(absent[0])})"
