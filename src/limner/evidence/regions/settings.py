"""How masks are looked for: points, crops and thresholds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...core.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """The settings of automatic mask generation; the defaults are those of MMMG's released script.

    Attributes:
        points: Points a side on the whole image.
        iou: Masks whose own estimate of their quality is not above this are dropped.
        stability: A mask's area at a raised threshold must be at least this part of its area at a lowered one.
        offset: By how much the threshold is raised and lowered for that.
        layers: 1 looks again at four crops that overlap, 2 at sixteen more; 0 at the whole image only.
        downscale: In each further layer the points a side are divided by this.
        nms: Of two masks in one crop whose boxes overlap by more than this, the better one stays.
        crop_nms: The same between crops, where the mask of the smaller crop stays.
        refine: Every mask goes through the decoder a second time, as an input, before any is dropped.
    """

    points: int = 32
    iou: float = 0.7
    stability: float = 0.95
    offset: float = 0.7
    layers: int = 1
    downscale: int = 2
    nms: float = 0.6
    crop_nms: float = 0.7
    refine: bool = True

    def __post_init__(self) -> None:
        whole = {"points": (1, 256), "layers": (0, 4), "downscale": (1, 16)}
        for name, (least, most) in whole.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise UsageError(f"{name} is a whole number from {least} to {most}, not {value!r}")
        for name in ("iou", "stability", "offset", "nms", "crop_nms"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise UsageError(f"{name} is a number of at least 0, not {value!r}")
        if not isinstance(self.refine, bool):
            raise UsageError(f"refine is true or false, not {self.refine!r}")

    def side(self, layer: int) -> int:
        """Points a side in a layer of crops."""
        return max(1, int(self.points / self.downscale**layer))

    def __str__(self) -> str:
        """What differs from the release's settings."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = [f"{name}={value:g}" for name, value in values.items() if value != getattr(RELEASE, name)]
        return " ".join(changed) or "release"


RELEASE = Settings()


def settings_from(base: Settings, options: dict[str, Any]) -> Settings:
    """`base` with those of the options that are settings; they are taken out of `options`."""
    known = {field.name for field in fields(Settings)}
    given = {name: options.pop(name) for name in list(options) if name in known}
    values = {field.name: getattr(base, field.name) for field in fields(Settings)}
    return Settings(**{**values, **given})
