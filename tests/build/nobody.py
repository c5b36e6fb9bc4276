"""A model for builds whose steps ask nobody."""

from __future__ import annotations

from typing import Any, ClassVar


class Nobody:
    """Fails a test that asks it."""

    name = "nobody"
    settings: ClassVar[dict[str, Any]] = {}

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> None:
        """It is never asked."""

    async def turn(self, *_: Any) -> Any:
        raise AssertionError("nobody is to be asked")
