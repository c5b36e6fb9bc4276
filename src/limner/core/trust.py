"""Trust in the limner.toml of a working folder, which may come from others and send keys to other hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from .catalogue import config_folder


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "::1", "127.0.0.1.example.com")]
    [True, True, True, False]
    """
    local = host in ("localhost", "::1") or host.endswith(".localhost")
    return local or (host.startswith("127.") and host.replace(".", "").isdecimal())


def host_of(url: str) -> str:
    """Return the host of an address; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def foreign_hosts(hosts: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the hosts that are neither known nor this machine, in order."""
    return sorted({host for host in hosts if host and not is_loopback(host)} - set(known))


def trust_file() -> Path:
    """Return the file with the hashes of trusted files."""
    return config_folder() / "trusted.txt"


def is_trusted(path: Path) -> bool:
    """Return whether the user has trusted this file with its present content."""
    try:
        return _hash(path) in trust_file().read_text().split()
    except OSError:
        return False


def trust(path: Path) -> None:
    """Trust a file as long as it is not changed."""
    trust_file().parent.mkdir(parents=True, exist_ok=True)
    with trust_file().open("a") as file:
        file.write(f"{_hash(path)}\n")


def _hash(path: Path) -> str:
    return hashlib.sha256(f"{path.resolve()}\n".encode() + path.read_bytes()).hexdigest()


def distrust_message(path: Path, routes: Mapping[str, Iterable[str]]) -> str:
    """Return the message about a file that sends keys, by variable, to foreign hosts."""
    where = "; ".join(f"{variable} to {', '.join(hosts)}" for variable, hosts in sorted(routes.items()))
    return f"{path} sends keys to hosts that Limner does not know: {where}"
