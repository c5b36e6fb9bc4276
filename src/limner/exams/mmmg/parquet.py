"""Rows of a Parquet file, with images that lie inside it left there until they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...core.data_files import short
from ...core.errors import DataError


@dataclass(frozen=True)
class EmbeddedImage:
    """An image inside a Parquet file."""

    file: Path
    column: str
    row: int

    def load(self) -> bytes:
        """Its bytes."""
        return _images(self.file, self.column)[self.row] or b""


def rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number, from 1 up, and the columns of each row; images are `EmbeddedImage` or None.

    Raises:
        DataError: The file is no Parquet file, or a broken one.
    """
    import polars
    from polars.exceptions import PanicException, PolarsError

    try:
        schema = polars.read_parquet_schema(file)
        inner = [
            name for name, kind in schema.items() if isinstance(kind, polars.Struct) and "bytes" in kind.to_schema()
        ]
        for number, row in enumerate(
            polars.read_parquet(file, columns=[n for n in schema if n not in inner]).to_dicts()
        ):
            images = {
                name: EmbeddedImage(file, name, number) if _images(file, name)[number] else None for name in inner
            }
            yield number + 1, row | images
    except (OSError, ValueError, TypeError, PolarsError, PanicException) as error:
        raise DataError(f"not readable as Parquet: {short(str(error))}", file=file) from error


@lru_cache(maxsize=1)
def _images(file: Path, column: str) -> list[bytes | None]:
    """The images of one column; only one file's are held at a time."""
    import polars

    return polars.read_parquet(file, columns=[column])[column].struct.field("bytes").to_list()
