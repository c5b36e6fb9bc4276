"""Seeded damage to pictures: copies that look alike, blown-up ones, watermarks and foreign words."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import cast

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

import limner.core.images

FONT = limner.core.images.FONT_PATH
Damage = Callable[[Image.Image, random.Random], Image.Image]


def font(size: float) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONT), max(10, round(size)))


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def jpeg(image: Image.Image, chance: random.Random) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=chance.randint(25, 60))
    return Image.open(io.BytesIO(buffer.getvalue())).convert("RGB")


def resized(image: Image.Image, chance: random.Random) -> Image.Image:
    share = chance.choice((0.5, 0.7, 1.4))
    return image.resize((round(image.width * share), round(image.height * share)), Image.Resampling.BICUBIC)


def padded(image: Image.Image, chance: random.Random) -> Image.Image:
    return ImageOps.expand(
        image, round(min(image.size) * chance.uniform(0.03, 0.12)), cast("tuple[int, ...]", image.getpixel((0, 0)))
    )


def cropped(image: Image.Image, chance: random.Random) -> Image.Image:
    x, y = (round(side * chance.uniform(0.004, 0.012)) for side in image.size)
    return image.crop((x, y, image.width - x, image.height - y))


def brighter(image: Image.Image, chance: random.Random) -> Image.Image:
    return ImageEnhance.Contrast(ImageEnhance.Brightness(image).enhance(chance.uniform(0.85, 1.15))).enhance(0.9)


def grey(image: Image.Image, chance: random.Random) -> Image.Image:
    return image.convert("L").convert("RGB")


def soft(image: Image.Image, chance: random.Random) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(chance.uniform(0.6, 1.4)))


def few_colours(image: Image.Image, chance: random.Random) -> Image.Image:
    return image.quantize(16).convert("RGB")


def credited(image: Image.Image, chance: random.Random) -> Image.Image:
    image = image.copy()
    ImageDraw.Draw(image).text((4, image.height - 16), f"Fig. {chance.randint(1, 99)}", "black", font(11))
    return image


COPIES: dict[str, Damage] = {
    "jpeg": jpeg, "resized": resized, "padded": padded, "cropped": cropped, "brighter": brighter, "grey": grey,
    "soft": soft, "few colours": few_colours, "credited": credited,
}  # fmt: skip


def small(image: Image.Image, chance: random.Random) -> Image.Image:
    share = chance.randint(50, 120) / min(image.size)
    return image.resize((max(1, round(image.width * share)), max(1, round(image.height * share))))


def blown_up(image: Image.Image, chance: random.Random) -> Image.Image:
    less = small(image, chance)
    return less.resize(image.size, Image.Resampling.BICUBIC)


LOW: dict[str, Damage] = {"small": small, "blown up": blown_up}


def _over(image: Image.Image, draw: Callable[[ImageDraw.ImageDraw], None]) -> Image.Image:
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    draw(ImageDraw.Draw(layer))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def tiled(image: Image.Image, chance: random.Random) -> Image.Image:
    word = chance.choice(("PREVIEW COPY", "studyhub", "EXAMBANK", "Classroom+", "lernwelt"))
    side = max(image.size)
    layer = Image.new("RGBA", (2 * side, 2 * side), (0, 0, 0, 0))
    pen, size = ImageDraw.Draw(layer), max(16.0, side / 22)
    alpha = chance.randint(55, 100)
    for y in range(0, 2 * side, round(size * 5)):
        for x in range(0, 2 * side, round(size * 11)):
            pen.text((x, y), word, (90, 90, 90, alpha), font(size))
    layer = layer.rotate(chance.choice((0, 20, 30)), resample=Image.Resampling.BICUBIC)
    left, top = (layer.width - image.width) // 2, (layer.height - image.height) // 2
    layer = layer.crop((left, top, left + image.width, top + image.height))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def stock(image: Image.Image, chance: random.Random) -> Image.Image:
    word = chance.choice(("shutterstock", "alamy", "dreamstime", "iStock", "depositphotos"))
    size = image.width / (len(word) * 0.9)
    alpha = chance.randint(90, 160)
    return _over(image, lambda pen: pen.text((image.width * 0.12, image.height * 0.42), word, (120, 120, 120, alpha),
                                             font(size)))  # fmt: skip


def address(image: Image.Image, chance: random.Random) -> Image.Image:
    word = chance.choice(("www.physicsnotes.com", "© 2019 Study Press", "biologyhelp.org", "Copyright Tutor Ltd"))
    size = max(13.0, image.height / 32)
    return _over(image, lambda pen: pen.text((8, image.height - 1.5 * size), word, (60, 60, 60, 220), font(size)))


MARKS: dict[str, Damage] = {"tiled": tiled, "stock": stock, "address": address}

FOREIGN = {
    "German": ("Die Wand der Zelle", "Kern mit der Membran", "Fluss von A nach B", "durch das Gewebe", "und der Rand"),
    "French": ("La paroi de la cellule", "Le noyau et les organites", "dans le sens du flux", "avec la membrane"),
    "Spanish": ("La pared de la célula", "El núcleo y los orgánulos", "en el sentido del flujo", "con la membrana"),
    "Russian": ("Клеточная стенка", "Ядро и мембрана", "Направление потока", "Вакуоль растения"),
}
ENGLISH = ("The wall of the cell", "The nucleus and the organelles", "in the direction of flow", "with the membrane")


def labelled(image: Image.Image, lines: tuple[str, ...]) -> Image.Image:
    """The picture with lines of text beside it, as a figure with a legend has them."""
    size = max(16.0, image.height / 24)
    wide = Image.new("RGB", (image.width + round(size * 14), image.height), "white")
    wide.paste(image, (0, 0))
    pen = ImageDraw.Draw(wide)
    for n, line in enumerate(lines):
        pen.text((image.width + size / 2, size * (1 + 2 * n)), line, "black", font(size))
    return wide
