"""Checks that a machine and a store are ready; each says what it found and what to do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from .core.errors import UsageError
from .core.registry import Registry

if TYPE_CHECKING:
    from .core.settings import Provider

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smbfs", "smb3", "afs", "ncpfs", "9p", "ceph", "glusterfs", "lustre"})
"""File systems on which SQLite's locks are not reliable, besides network file systems over fuse."""
FREE_BYTES = 2**30
REGISTRIES = {
    "exams": "limner.exams:EXAMS",
    "painters": "limner.painters:PAINTERS",
    "image services": "limner.painters:SERVICES",
    "strategies": "limner.strategies:STRATEGIES",
    "judges": "limner.judges:JUDGES",
    "probes": "limner.evidence.probe:PROBES",
}
"""The registries that other packages can add to."""


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    state: Literal["ok", "note", "bad"]
    detail: str


def examine(store: str) -> Iterator[Check]:
    """Yield the result of every check; a check that raises an error counts as bad."""
    checks: dict[str, Callable[[], Check]] = {
        "python": _python,
        "store": lambda: _store(store),
        "file system": lambda: _file_system(store),
        "disk": lambda: _disk(store),
        "OCR": _ocr,
        "settings": _settings,
        "your services": _own_services,
        "models": lambda: _models(store),
    }
    checks |= {name: partial(check_registry, name) for name in REGISTRIES}
    for name, check in checks.items():
        try:
            yield check()
        except Exception as error:
            yield Check(name, "bad", f"{type(error).__name__}: {error}")


def _python() -> Check:
    return Check("python", "ok", f"Limner {version('limner')}, Python {platform.python_version()}, {sys.platform}")


def _folder(store: str) -> Path | None:
    """Return the nearest existing folder of a store in files; None for a database server."""
    if store.startswith("sqlite:///"):
        path = Path(store.removeprefix("sqlite:///").partition("?")[0]).parent
    elif "://" in store:
        return None
    else:
        path = Path(store)
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _store(store: str) -> Check:
    from .store import Store, store_exists, verify
    from .store.records import load_setups
    from .store.schema import VERSION
    from .store.store import hide_password

    folder, name = _folder(store), hide_password(store)
    if folder is not None and not os.access(folder, os.W_OK):
        return Check("store", "bad", f"{folder} is not writable; choose another --store")
    if not store_exists(store):
        return Check("store", "ok", f"{name} does not exist yet; the first run creates it")
    with Store(store, create=False) as opened:
        for report in verify.check(opened, quick=True):
            if report.defects:
                more = f"run `limner verify --store {name}` for details"
                return Check("store", "bad", f"{name} is damaged: {report.defects[0].detail[:300]}; {more}")
        opened.blobs.check()
        setups = len(load_setups(opened))
    return Check("store", "ok", f"{name} opens; version {VERSION}; judge setups: {setups}")


def is_network(kind: str) -> bool:
    """Return whether a file system of this kind is on a network."""
    return kind in NETWORK or (kind.startswith("fuse.") and kind not in ("fuse.lxcfs", "fuse.overlayfs"))


def _file_system(store: str) -> Check:
    import psutil

    folder = _folder(store)
    if folder is None:
        return Check("file system", "ok", "the store is a database server")
    inside = [part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)]
    if not inside:
        return Check("file system", "note", f"the file system of {folder} is unknown")
    part = max(inside, key=lambda part: len(part.mountpoint))
    if is_network(part.fstype):
        detail = f"{folder} is on {part.fstype}, which may corrupt SQLite; use a local disk or PostgreSQL"
        return Check("file system", "bad", detail)
    return Check("file system", "ok", f"{folder} is on {part.fstype}")


def _disk(store: str) -> Check:
    folder = _folder(store) or Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 2**30:.1f} GiB free at {folder}"
    return Check("disk", "ok" if free > FREE_BYTES else "bad", detail)


def _ocr() -> Check:
    from PIL import Image, ImageDraw

    from .core.images import font
    from .evidence.ocr import RapidOcr

    image = Image.new("RGB", (320, 80), "white")
    ImageDraw.Draw(image).text((20, 20), "Limner reads", font=font(32), fill="black")
    engine = RapidOcr()
    text = " ".join(line.text for line in engine.read(image))
    correct = text.replace(" ", "").casefold() == "limnerreads"
    return Check("OCR", "ok" if correct else "bad", f"{engine.name} reads {text!r}")


def _settings() -> Check:
    from .core import settings

    providers = settings.load().providers
    have = [name for name, p in providers.items() if p.key_env and os.environ.get(p.key_env)]
    lack = [p.key_env for name, p in providers.items() if p.key_env and name not in have]
    if not have:
        some = f"set one of {', '.join(lack[:3])}, …" if lack else "limner.toml names no service"
        return Check("settings", "note", f"no key of a service is set; to draw or judge with a service, {some}")
    lacking = f"; not for: {', '.join(lack)}" if lack else ""
    return Check("settings", "ok", f"keys set for: {', '.join(have)}{lacking}")


def _own_services() -> Check:
    """Check whether the services in the user's limner.toml answer, by their lists of models."""
    from .core import settings
    from .core.schema import read_toml

    path = Path.cwd() / settings.OWN
    own = read_toml(path).get("providers", {}) if path.is_file() else {}
    if not own:
        return Check("your services", "ok", f"none in {settings.OWN}")
    loaded = settings.load()
    checks = [_service(name, loaded.provider(name)) for name in own]
    worst = "bad" if "bad" in (state for state, _ in checks) else "ok"
    return Check("your services", worst, "; ".join(detail for _, detail in checks))  # type: ignore[arg-type]


def _service(name: str, provider: Provider) -> tuple[str, str]:
    import asyncio

    from .calls import Fault
    from .calls.turns import list_models
    from .core.faults import STOPPING
    from .core.redaction import public_address

    address = public_address(provider.base_url)
    try:
        models = asyncio.run(list_models(provider))
    except (Fault, UsageError) as error:
        # A service may do without a list of models.
        listless = isinstance(error, Fault) and error.kind not in {*STOPPING, "network", "timeout"}
        detail = error.detail if isinstance(error, Fault) else str(error)
        return ("ok" if listless else "bad"), f"{name} at {address}: {detail}"
    shown = ", ".join(models[:3]) + (f" and {len(models) - 3} more" if len(models) > 3 else "")
    return "ok", f"{name} at {address} answers; its models: {shown or 'none'}"


def _models(store: str) -> Check:
    """Check whether models of presets and of the store are retired or soon will be."""
    from . import exams
    from .core import catalogue, settings
    from .store import Store, store_exists
    from .store.records import models_used

    models, day = settings.load().models, catalogue.today()
    used = {str(preset["judge"]) for kind in exams.each() for preset in kind.all_presets.values() if "judge" in preset}
    if store_exists(store):
        with Store(store, create=False) as opened:
            used |= models_used(opened)
    warnings = catalogue.lifetime_warnings(sorted(used), models, day)
    detail = "; ".join(warnings.values()) or f"all {len(used)} models of presets and store are available"
    return Check("models", "note" if warnings else "ok", detail)


def check_registry(name: str, registry: Registry[Any] | None = None) -> Check:
    """List what Limner ships and what other packages add, each with a line about it or its error."""
    registry = registry or resolve_name(REGISTRIES[name])
    assert registry is not None
    own = registry.own()
    lines = [", ".join(own)]
    state: Literal["ok", "note", "bad"] = "ok"
    for entry in registry.entries():
        if entry.own:
            continue
        if entry.name in own:
            detail, state = "not used: Limner has one of the same name", "bad" if state == "bad" else "note"
        else:
            try:
                registry.get(entry.name)
                detail = registry.about(entry.name)
            except UsageError as error:
                detail, state = str(error), "bad"
        lines.append(f"{entry.name} from {entry.package} {entry.version}: {detail}")
    return Check(name, state, "; ".join(lines))
