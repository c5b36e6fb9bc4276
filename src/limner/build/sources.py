"""The step `source`: items from folders of pictures, tables, lists of links, rows of a table, or entries of items.

A record that cannot be read is dropped with its reason; the others are taken.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from ..calls import Attempt, Fault, Request, Result
from ..calls.downloads import fetch
from ..core.data_rows import read_lines
from ..core.errors import PARQUET, DataError, UsageError, check_tables
from ..core.images import MAX_BYTES, SUFFIXES, BadImage
from ..core.json_text import parse_json
from ..core.loops import process_all
from ..core.schema import LONE_SURROGATE, StrictModel
from ..core.training import normalize_words
from .base import BuildItem, BuildStep, Code, Dropped, GenericSettings, StepContext

PICTURES = frozenset(f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg"))
TEXTS = (".txt", ".md")
BATCH = 64
"""The number of rows of a table that are read at a time."""
COLUMN_NAMES = {
    "text": ("source_text", "text", "caption", "description", "alt", "lecture"),
    "licence": ("licence", "license"),
    "credit": ("credit", "author", "attribution"),
    "page": ("page", "page_url", "source", "source_url"),
    "title": ("title", "name"),
    "keyword": ("keyword", "query", "topic"),
    "prompt": ("prompt", "free_prompt", "expert_prompt"),
}
"""Field of a picture -> the columns that may contain it, by precedence."""
PICTURE_COLUMNS = ("image", "picture", "img")
LINK_COLUMNS = ("url", "image_url", "link")
Rows = Iterator[tuple[int, dict[str, Any] | str]]
"""The number and the columns of each row of a table, or why it cannot be read."""


@dataclass(frozen=True)
class SourcePicture:
    """A picture of a source: its bytes, a file or a link, with its metadata.

    Attributes:
        origin: The place where it was found, for provenance.
        fault: Why it cannot be taken.
        about: ``text``, ``licence``, ``credit``, ``page``, ``title``, ``keyword``, ``prompt``, as far as known.
    """

    origin: str
    data: bytes | None = None
    file: Path | None = None
    link: str | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""


def from_folder(folder: Path) -> Iterator[SourcePicture]:
    """Yield every picture in a folder and its subfolders, with the text in files of the same name.

    ``cell.txt`` or ``cell.md`` next to ``cell.png`` is its source text, ``cell.prompt.txt`` or ``cell.prompt.md`` the
    prompt that an expert wrote for it. ``cell.json`` may have more fields, named as in `COLUMN_NAMES`; so may
    ``metadata.jsonl`` for all pictures (by ``file_name``), as `datasets` writes it for folders.

    Raises:
        UsageError: There is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of pictures")
    metadata = dict[str, dict[str, str]]()
    if (listed := folder / "metadata.jsonl").is_file():
        for number, row in _text_rows(listed):
            if isinstance(row, str):
                yield SourcePicture(f"{folder.name}/{listed.name}:{number}", fault=row)
            else:
                metadata[str(row.get("file_name"))] = _about(row)
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() not in PICTURES or not file.is_file():
            continue
        name = file.relative_to(folder).as_posix()
        origin = os.fsencode(f"{folder.name}/{name}").decode("utf-8", "backslashreplace")
        try:
            yield SourcePicture(origin, file=file, about={**metadata.get(name, {}), **_texts_beside(file)})
        except DataError as error:
            yield SourcePicture(origin, fault=str(error))


def _texts_beside(file: Path) -> dict[str, str]:
    about = {}
    for suffix in TEXTS:
        for name, beside in (("text", file.with_suffix(suffix)), ("prompt", file.with_suffix(f".prompt{suffix}"))):
            if beside.is_file():
                about[name] = "\n".join(read_lines(beside)).strip()
    if (beside := file.with_suffix(".json")).is_file():
        try:
            about |= _about(parse_json("\n".join(read_lines(beside))))
        except (ValueError, AttributeError) as error:
            raise DataError(f"not a JSON object: {error}", file=beside) from error
    if LONE_SURROGATE.search("".join(about.values())):
        raise DataError("its text is not UTF-8", file=beside)
    return about


def _about(row: Mapping[str, Any]) -> dict[str, str]:
    fields = {}
    for name, columns in COLUMN_NAMES.items():
        for column in columns:
            value = row.get(column)
            if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
                value = "\n".join(value)
            if isinstance(value, str) and value.strip():
                fields[name] = value.strip()
                break
    if "text" not in fields and isinstance(row.get("question"), str):
        # Question and answer replace the text of a textbook page.
        parts = [
            str(row[part]) for part in ("question", "choices", "answer", "explanation", "solution") if row.get(part)
        ]
        fields["text"] = "\n".join(parts)
    return fields


def from_table(path: Path) -> Iterator[SourcePicture]:
    """Yield every picture in a table (parquet of `datasets`, CSV, JSON lines) or a folder saved by `datasets`.

    A picture is bytes, ``{"bytes", "path"}``, or a file's path relative to the table's folder.

    Raises:
        UsageError: The table cannot be read.
    """
    for number, row in _table_rows(path):
        origin = f"{path.name}:{number}"
        try:
            yield SourcePicture(origin, fault=row) if isinstance(row, str) else _row_picture(path, origin, row)
        except (UsageError, ValueError) as error:
            yield SourcePicture(origin, fault=str(error))


def _row_picture(path: Path, origin: str, row: Mapping[str, Any]) -> SourcePicture:
    columns = [name for name in PICTURE_COLUMNS if name in row]
    value = next((row[name] for name in columns if row[name] is not None), None)
    link = next((row[name] for name in LINK_COLUMNS if isinstance(row.get(name), str) and row[name]), None)
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes) and value:
        return SourcePicture(origin, data=value, about=_about(row))
    if isinstance(value, str) and value:
        folder = (path if path.is_dir() else path.parent).resolve()
        if not (file := (folder / value).resolve()).is_relative_to(folder):
            raise UsageError(f"the picture {value[:80]!r} lies outside the table's folder")
        return SourcePicture(origin, file=file, about=_about(row))
    if link is not None:
        return SourcePicture(origin, link=link, about=_about(row))
    why = f"{columns[0]} is empty" if columns else f"columns for a picture: {', '.join(PICTURE_COLUMNS)}"
    raise UsageError(f"the row has no picture: {why}")


def _table_rows(path: Path) -> Rows:
    """Yield the number of each row and the row, or why it cannot be read."""
    readers = {PARQUET: _parquet, ".csv": _text_rows, ".jsonl": _text_rows, ".json": _text_rows}
    read = _saved if path.is_dir() else readers.get(path.suffix)
    if read is None:
        raise UsageError(f"{path}: a table is a .parquet, .csv, .json or .jsonl file, or a folder saved by `datasets`")
    return read(path)


def _text_rows(path: Path) -> Rows:
    try:
        text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
        # Not line by line: a quoted text of a table may span several lines.
        table = enumerate(csv.DictReader(io.StringIO(text, newline="")), 2) if path.suffix == ".csv" else None
        entries = enumerate(json.loads(text), 1) if table is None and text.lstrip().startswith("[") else None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    for number, row in table or entries or _lines(text):
        broken = LONE_SURROGATE.search(json.dumps(row, ensure_ascii=False))
        yield number, "its text is not UTF-8" if broken else row if isinstance(row, dict | str) else "not a JSON object"


def _lines(text: str) -> Rows:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except ValueError as error:
                yield number, f"not JSON: {error}"


def _parquet(path: Path) -> Rows:
    check_tables([path])
    import polars

    try:
        table = polars.scan_parquet(path)
        whole = table.select(polars.len()).collect().item()
        for start in range(0, whole, BATCH):
            rows = table.slice(start, BATCH).collect().iter_rows(named=True)
            yield from enumerate(rows, start)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _saved(folder: Path) -> Rows:
    """Yield the rows of a folder that `datasets` saved; pictures as bytes."""
    try:
        import datasets

        dataset = datasets.load_from_disk(str(folder))
    except ImportError as error:
        raise UsageError(f"{folder}: install the package that saved it: pip install 'limner[datasets]'") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: not saved by `datasets`: {error}") from error
    for split in dataset.values() if isinstance(dataset, datasets.DatasetDict) else [dataset]:
        for name, feature in split.features.items():
            if isinstance(feature, datasets.Image):
                split = split.cast_column(name, datasets.Image(decode=False))
        yield from enumerate(split)


ID = 16
"""The number of digits of a hash in an item's id."""
AT_ONCE, FETCHED = 64, 16
"""The number of pictures that are taken as one batch, and of those that are fetched at the same time."""


class EntriesSource(StrictModel):
    """Items made of the entries of a list in other items; equal ones are made once.

    Attributes:
        of: The sort of the other items; `list` is their field with the list.
        text: The field for an entry, or, if entries are objects, the one of `fields` by which they are compared.
        usual: The usual number of entries, for estimates.
        id: A field of the other item that begins the new ids; without it, ids are hashes of the text.
        keep: Fields of the other item that the new ones get.
    """

    of: str
    list: str
    text: str
    fields: tuple[str, ...] = ()
    usual: int = Field(default=1, ge=1)
    id: str = ""
    keep: tuple[str, ...] = ()


class SourceSettings(GenericSettings):
    """The sources of items.

    Attributes:
        folders: Folders of pictures, with the text of each in a file of the same name.
        tables: Parquet, CSV or JSON lines with pictures and their captions, or folders saved by `datasets`.
        crawl: Lists of links (``url``, with ``page``, ``text``, ``licence``, ``keyword``): CSV, JSON lines or parquet.
        hosts: Hosts that links may lead to; if empty, each link's own host.
        licence: The licence of pictures that state none.
        text_limit: Characters of source text that are kept.
        rows: A CSV or JSON lines file whose rows are items; its column ``id`` names them.
        entries: A list in other items whose entries are items.
    """

    folders: tuple[Path, ...] = ()
    tables: tuple[Path, ...] = ()
    crawl: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    licence: str = "unknown"
    text_limit: int = Field(default=8000, ge=0)
    rows: Path | None = None
    entries: EntriesSource | None = None

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that it writes; those of a table are not known."""
        fields: tuple[str, ...] = ("image", "source_text", "licence", "source", "free_prompt")
        if self.entries is not None:
            fields = (self.entries.text, *self.entries.fields, *self.entries.keep)
        return replace(step, writes=() if self.rows and not self.entries else fields)

    def check_packages(self) -> None:
        """Check that the packages for reading tables and lists are installed."""
        check_tables((*self.tables, *self.crawl))


Made = BuildItem | tuple[str, Dropped]


async def _source(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[Made]:
    how: SourceSettings = context.settings
    if how.rows is not None:
        for made in _row_items(context.folder / how.rows, how.sort):
            yield made
    if how.entries is not None:
        for made in _entry_items(items, how.entries, how.sort):
            yield made
    if how.folders or how.tables or how.crawl:
        async for made in _picture_items(context):
            yield made
    elif how.rows is None and how.entries is None:
        place = context.place
        raise UsageError(
            f"step {place}: say where pictures come from: --set '{place}.folders=[\"DIR\"]', "
            f"'{place}.tables=[\"FILE.parquet\"]' or '{place}.crawl=[\"LIST.csv\"]'"
        )


async def _picture_items(context: StepContext) -> AsyncIterator[Made]:
    how: SourceSettings = context.settings
    origins: dict[str, str] = {}
    async for picture, stored in stored_pictures(context):
        name = hashlib.sha256(picture.origin.encode()).hexdigest()[:ID]
        if isinstance(stored, Dropped):
            yield f"bad-{name}", stored
            continue
        if stored[:ID] in origins:
            yield f"same-{name}", Dropped("exact duplicate", f"{picture.origin}: as {origins[stored[:ID]]}")
            continue
        origins[stored[:ID]] = picture.origin
        body = picture_fields(picture, stored, how)
        if prompt := body["source"].pop("prompt", ""):
            body["free_prompt"] = prompt
        yield BuildItem(stored[:ID], body, how.sort)


def _row_items(file: Path, sort: str) -> Iterator[Made]:
    ids = set[str]()
    for number, row in _table_rows(file):
        place = f"{file.name}:{number}"
        if isinstance(row, str):
            yield f"bad-{number}", Dropped("cannot be read", f"{place}: {row}")
        elif (id := str(row.get("id") or "").strip()) in ids:
            yield f"same-{number}", Dropped("repeated id", f"{place}: {id}")
        elif id:
            ids.add(id)
            body = {name: value for name, value in row.items() if name and name != "id" and value is not None}
            yield BuildItem(f"{sort}/{id}", {"name": id, **body}, sort)
        else:
            yield f"bad-{number}", Dropped("no id", place)


def _entry_items(items: Sequence[BuildItem], how: EntriesSource, sort: str) -> Iterator[Made]:
    ids: dict[str, str] = {}
    for other in items:
        if other.sort != how.of:
            continue
        kept = {name: other.body[name] for name in how.keep if other.body.get(name)}
        code = re.sub(r"[^A-Za-z0-9-]+", "_", str(other.body[how.id])) if how.id else ""
        for n, entry in enumerate(other.body.get(how.list) or (), 1):
            body = dict(entry) if isinstance(entry, Mapping) else {how.text: entry}
            plain = normalize_words(str(body[how.text]))
            id = f"{code}_{n}" if how.id else hashlib.sha256(plain.encode()).hexdigest()[:ID]
            if plain in ids:
                same = f"same-{other.id}-{n}" if id == ids[plain] else id
                yield same, Dropped(f"repeated {how.text}", f"the same as {ids[plain]}")
                continue
            ids[plain] = id
            yield BuildItem(id, {**body, **kept}, sort)


def _pictures(how: SourceSettings) -> Iterator[SourcePicture]:
    for folder in how.folders:
        yield from from_folder(folder)
    for table in (*how.tables, *how.crawl):
        yield from from_table(table)


def picture_fields(picture: SourcePicture, sha256: str, how: SourceSettings) -> dict[str, Any]:
    """Return an item's fields from a picture: hash, text, licence, and the rest in ``source``."""
    about = dict(picture.about)
    text = about.pop("text", "")[: how.text_limit]
    licence = about.pop("licence", how.licence)
    source = {"origin": picture.origin, **({"url": picture.link} if picture.link else {})}
    return {"image": sha256, "source_text": text, "licence": licence, "source": source | about}


async def stored_pictures(context: StepContext) -> AsyncIterator[tuple[SourcePicture, str | Dropped]]:
    """Store the pictures of a source, several at a time, and yield each with its hash, or why it is dropped."""
    pictures = _pictures(context.settings)
    while batch := list(islice(pictures, AT_ONCE)):
        outcomes: dict[int, str | Dropped] = {}

        async def take(number: int, batch: Sequence[SourcePicture] = batch, outcomes: Any = outcomes) -> None:
            outcomes[number] = await _stored(batch[number], context)

        await process_all(range(len(batch)), take, FETCHED)
        for number, picture in enumerate(batch):
            yield picture, outcomes[number]


async def _stored(picture: SourcePicture, context: StepContext) -> str | Dropped:
    """Store a picture and return its hash, or why it is dropped."""
    if picture.fault:
        return Dropped("cannot be read", f"{picture.origin}: {picture.fault}")
    try:
        if picture.link is not None:
            return await _fetch_link(picture.link, context)
        if picture.file is not None and (size := picture.file.stat().st_size) > MAX_BYTES:
            raise BadImage(f"{size:,} bytes; at most {MAX_BYTES:,} are taken")
        data = await asyncio.to_thread(picture.file.read_bytes) if picture.file is not None else picture.data or b""
        return (await asyncio.to_thread(context.blobs.put, data))[0]
    except (BadImage, OSError, ValueError) as error:
        return Dropped("not a picture", f"{picture.origin}: {error}")
    except Fault as fault:
        return Dropped("not found", f"{picture.origin}: {fault.detail}")


async def _fetch_link(link: str, context: StepContext) -> str:
    hosts = context.settings.hosts or ((urlsplit(link).hostname or ""),)

    async def perform(_attempt: Attempt) -> Result:
        data = await fetch(link, hosts, urlsplit(link).port)
        try:
            sha256, _ = await asyncio.to_thread(context.blobs.put, data)
        except BadImage as error:
            raise Fault("image", str(error)) from error
        return Result({"image": sha256})

    outcome = await context.calls.do(Request("fetch", "crawl", {"url": link, "hosts": list(hosts)}), perform)
    return str(outcome.payload["image"])


def _expected(how: SourceSettings, folder: Path, items: Sequence[BuildItem], coming: Mapping[str, int]) -> int:
    made, entries = 0, how.entries
    if entries is not None:
        made = sum(len(item.body.get(entries.list) or ()) for item in items if item.sort == entries.of)
        made += coming.get(f"{entries.of}.{entries.list}", coming.get(entries.of, 0) * entries.usual)
    made += sum(1 for _ in _row_items(folder / how.rows, how.sort)) if how.rows else 0
    return made + sum(1 for _ in _pictures(how))


SOURCE = BuildStep(
    "source", "takes pictures from folders, tables and lists of links, rows of a table, or entries of items",
    SourceSettings, source=_source, expect=_expected,
)  # fmt: skip
