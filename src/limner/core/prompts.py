"""Prompt templates: Markdown with ``{{name}}`` fields, the shipped wording or a user's own."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .errors import UsageError


class Prompts:
    """Markdown templates with ``{{name}}`` fields: the shipped ones, or a user's own wording."""

    def __init__(self, shipped: Path, own: Path | None = None) -> None:
        self.shipped, self.own = shipped, own
        self._read: dict[str, str] = {}
        if own is not None and not own.is_dir():
            raise UsageError(f"--prompts {own}: no such folder")

    def text(self, name: str) -> str:
        """The template called `name`, from the user's folder where it has one; read once."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> str:
        for folder in (self.own, self.shipped):
            if folder is not None and (path := folder / f"{name}.md").is_file():
                try:
                    return path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise UsageError(f"prompt template {path}: cannot be read: {error}") from error
        raise UsageError(f"no prompt template {name}.md in {self.own or self.shipped}")

    def hash(self, *names: str) -> str:
        """Identifies the wording of the named templates."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + self.text(name).encode() + b"\0")
        return digest.hexdigest()[:12]

    def fill(self, name: str, **fields: str) -> str:
        """The template with its fields filled in; a field the template lacks is an error."""
        text = self.text(name)
        for field_name in fields:
            if f"{{{{{field_name}}}}}" not in text:
                raise UsageError(f"prompt template {name}.md lacks the field {{{{{field_name}}}}}")
        # One pass over the template, so that a value which itself holds "{{…}}" stays as it is.
        pieces = text.split("{{")
        out = [pieces[0]]
        for piece in pieces[1:]:
            key, end, rest = piece.partition("}}")
            out.append(fields[key] + rest if end and key in fields else "{{" + piece)
        return "".join(out)
