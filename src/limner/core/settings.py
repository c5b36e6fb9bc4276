"""Settings: services and the catalogue of models, as shipped, as refreshed by the user, and from limner.toml.

The limner.toml of a working folder may come from others and send keys to other hosts, so it must be trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from . import catalogue
from .catalogue import ModelFacts, PainterFacts, config_folder
from .errors import DataError, UsageError
from .marks import PanelFacts
from .redaction import join_path, public_address, register_address, register_key
from .registry import names
from .schema import StrictModel, known_keys, read_toml
from .wire import RewriteSwitch, WireFormat, rewrite_field_names


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


PROVIDERS_FILE = Path(__file__).parent / "providers.toml"
SERVICES_FILE = Path(__file__).parent / "services.toml"
OWN = "limner.toml"
DECLARED_SHAPES = {False: "declared", True: "declared-jobs"}
"""Whether a service described by ``[painters.NAME]`` uses jobs -> its ``image_shape``."""


class BatchFacts(StrictModel):
    """Facts about a service's batches: calls submitted together and answered within a day, at a lower price.

    Attributes:
        shape: The provider whose wire format is used.
        share: The price of a call in a batch, as a share of the usual price.
        calls: The maximum number of calls in a batch.
        bytes: The maximum size of its file.
        inline_bytes: The maximum size of a batch sent without a file, if the service supports that.
        window_s: Seconds within which a batch is answered or expires.
        poll_s: Seconds before its state is first polled; polling then slows down.
        doubt_s: Seconds after which an accepted batch is sure to appear in the service's list.
    """

    shape: Literal["openai", "gemini", "anthropic"]
    share: float = Field(gt=0, le=1)
    calls: int = Field(gt=0)
    bytes: int = Field(gt=0)
    inline_bytes: int = Field(default=0, ge=0)
    window_s: float = Field(default=86_400.0, gt=0)
    poll_s: float = Field(default=10.0, gt=0)
    doubt_s: float = Field(default=60.0, ge=0)
    priced_on: str | None = None
    source: str | None = None


class Provider(StrictModel):
    """A service that answers chat requests, draws, or both.

    Attributes:
        key_header: The header that carries the key, such as ``X-Key: {key}``; each wire format has a default.
        image_shape: The wire format of its image calls, by the name of a registered image service.
        image_url: The address of image calls, if different from `base_url`.
        seeds: Whether image calls accept a seed.
        structured: The kind of structured output that it supports.
        image_input: Whether its models see pictures, and its painters can start from them.
        max_image_side: The maximum length of a picture's longer side.
        cap_replies: Whether Limner limits the length of replies if no argument does.
        limit_name: The argument with which it does so.
        link_hosts: Hosts other than the service's own from which finished images may be downloaded; ``*.name`` allows
            all subdomains.
        poll_hosts: Hosts other than the service's own at which jobs may be polled; they receive the key.
        idempotency_header: The header by which it recognises a repeated request, if it has one; a request whose outcome
            is unknown is then repeated without being paid for twice.
        batch: Facts about its batches, if it offers them.
    """

    base_url: str = Field(pattern=r"^https?://\S+$")
    shape: Literal["openai", "anthropic"] = "openai"
    key_env: str | None = None
    key_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+: ([A-Za-z]+ )?\{key\}$")
    timeout_s: float = Field(default=600.0, gt=0)
    call_timeout_s: float = Field(default=3600.0, gt=0)
    image_shape: str | None = None
    image_url: str | None = None
    seeds: bool = False
    structured: Literal["none", "json_object", "json_schema"] = "none"
    image_input: bool = True
    max_image_side: int | None = None
    cap_replies: bool = True
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    link_hosts: tuple[str, ...] = ()
    poll_hosts: tuple[str, ...] = ()
    idempotency_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$")
    batch: BatchFacts | None = None
    _distrust: str | None = PrivateAttr(default=None)

    @property
    def key_hosts(self) -> list[str]:
        """The hosts that receive the key."""
        return [*(host_of(url) for url in (self.base_url, self.image_url) if url is not None), *self.poll_hosts]

    def distrust(self, why: str) -> None:
        """Refuse to use the key, with this reason."""
        self._distrust = why

    def model_post_init(self, _context: Any) -> None:
        """Register keys and addresses so that they are redacted everywhere."""
        if self.key_env is not None:
            register_key(self.key_env)
        for url in (self.base_url, self.image_url):
            if url is not None:
                register_address(url)

    @field_validator("image_shape")
    @classmethod
    def _is_registered(cls, shape: str | None) -> str | None:
        shapes = names("limner.services")
        if shape is not None and shape not in shapes:
            raise ValueError(f"no image service {shape!r}; choose from: {', '.join(shapes)}")
        return shape

    def address(self, path: str) -> str:
        """Return the address of chat calls: a path below `base_url`, with its login and query."""
        return join_path(self.base_url, path)

    def key_headers(self, usual: str = "Authorization: Bearer {key}", otherwise: str | None = None) -> dict[str, str]:
        """Return the header with the key; empty for a service that needs no key.

        Args:
            usual: The default header, in the form of `key_header`.
            otherwise: The key to send to a service that needs none but expects a header.
        """
        name, _, how = (self.key_header or usual).partition(": ")
        key = self.key() or otherwise
        return {name: how.replace("{key}", key)} if key else {}

    def key(self) -> str | None:
        """Return the key from the environment, or None for a service that needs none.

        Raises:
            UsageError: The variable is not set, its value cannot be a key, or it would be sent where it must not be.
        """
        if self.key_env is None:
            return None
        if self._distrust is not None:
            raise UsageError(f"{self._distrust}. If you want this, run `limner trust` in that folder once")
        for url in filter(None, (self.base_url, self.image_url)):
            if url.startswith("http:") and not is_loopback(host_of(url)):
                raise UsageError(
                    f"{public_address(url)} is not encrypted, and would receive the key in {self.key_env}: use https; "
                    "over plain http keys are sent only to this machine"
                )
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise UsageError(
                f"{public_address(self.base_url)} needs a key: set the environment variable {self.key_env}"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            # It cannot be sent in a header, and the resulting error would show it.
            raise UsageError(
                f"the environment variable {self.key_env} does not hold a key: it has characters that keys never have"
            )
        return key


class Measures(StrictModel):
    """The default backends for measuring drawings; see `limner.evidence.backends`.

    Attributes:
        ocr: The backend that reads text; the OCR examiner has its own.
        regions: The backend that counts regions.
        aesthetics: The backend that rates aesthetics.
        ocr_timeout_s: Seconds allowed for one image.
    """

    ocr: str = "rapidocr"
    regions: str = "classical"
    aesthetics: str | None = None
    ocr_timeout_s: float = Field(default=120.0, gt=0)
    regions_timeout_s: float = Field(default=600.0, gt=0)
    aesthetics_timeout_s: float = Field(default=600.0, gt=0)


class Settings(StrictModel):
    """All named services and facts about models.

    Attributes:
        wires: Wire formats of services described in settings, by service.
        usual: Facts common to all models of such a service, by service.
        panels: Panels of judges, by name.
        rewrites: Switches for prompt rewriting, by service or wire format, then by pattern of model names.
        releases: The folders with the user's clones of exams' releases, by exam.
    """

    providers: dict[str, Provider]
    models: dict[str, ModelFacts] = Field(default_factory=dict)
    painters: dict[str, PainterFacts] = Field(default_factory=dict)
    evidence: Measures = Measures()
    wires: dict[str, WireFormat] = Field(default_factory=dict)
    usual: dict[str, PainterFacts] = Field(default_factory=dict)
    panels: dict[str, PanelFacts] = Field(default_factory=dict)
    rewrites: dict[str, dict[str, RewriteSwitch]] = Field(default_factory=dict)
    releases: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _sorted(cls, data: Any) -> Any:
        """Split each ``[painters.NAME]`` that describes a service into its provider, wire format and usual facts."""
        rows = data.get("painters") if isinstance(data, dict) else None
        if not isinstance(rows, dict) or not isinstance(data.get("providers"), dict):
            return data
        data = {**data, "painters": dict(rows), "providers": dict(data["providers"])}
        wires, usual = dict(data.get("wires") or {}), dict(data.get("usual") or {})
        for name, row in rows.items():
            if "/" in name or not isinstance(row, dict) or not row.keys() - PainterFacts.model_fields.keys():
                continue
            of_provider = {key: value for key, value in row.items() if key in Provider.model_fields}
            facts = {key: row[key] for key in row.keys() & PainterFacts.model_fields.keys() - of_provider.keys()}
            wires[name] = {key: value for key, value in row.items() if key not in of_provider.keys() | facts.keys()}
            usual[name] = facts
            del data["painters"][name]
            shape = {"image_shape": DECLARED_SHAPES["poll" in row]}
            data["providers"][name] = shape | dict(data["providers"].get(name) or {}) | of_provider
        return data | ({"wires": wires, "usual": usual} if wires else {})

    def as_released(self) -> Settings:
        """Return the settings for presets: replies are not limited."""
        exact = {name: provider.model_copy(update={"cap_replies": False}) for name, provider in self.providers.items()}
        return self.model_copy(update={"providers": exact})

    def painter(self, target: str) -> PainterFacts:
        """Return the facts about a painter; its own override those of its service."""
        usual = self.usual.get(target.partition("/")[0], PainterFacts())
        if (own := self.painters.get(target)) is None:
            return usual
        return usual.model_copy(update={key: getattr(own, key) for key in own.model_fields_set})

    def rewrite_switches(self, service: str) -> dict[str, RewriteSwitch]:
        """Return a service's switches for prompt rewriting, found by its name, else by its wire format."""
        return self.rewrites.get(service) or self.rewrites.get(self.provider(service).image_shape or "", {})

    def rewrite_fields(self) -> frozenset[str]:
        """Return the option names of all services' prompt-rewriting fields."""
        return rewrite_field_names(switch for switches in self.rewrites.values() for switch in switches.values())

    def provider(self, name: str) -> Provider:
        """Return the service called `name`.

        Raises:
            UsageError: There is none.
        """
        if name not in self.providers:
            names = ", ".join(sorted(self.providers))
            raise UsageError(f"no provider {name!r}; known: {names}. Add [providers.{name}] to {OWN}")
        return self.providers[name]

    def price(self, target: str, tokens_in: int, tokens_out: int, *, of_pictures: int = 0) -> float | None:
        """Return the price of a call in dollars, or None if unknown.

        Args:
            target: The model.
            tokens_in: The number of input tokens.
            tokens_out: The number of output tokens, including those of drawn images.
            of_pictures: The number of input tokens that are pictures, which may have a different price.
        """
        facts = self.models.get(target)
        if facts is None or facts.input_price is None or facts.output_price is None:
            return None
        dearer = 0.0 if facts.image_input_price is None else facts.image_input_price - facts.input_price
        return (tokens_in * facts.input_price + of_pictures * dearer + tokens_out * facts.output_price) / 1e6

    def batch_share(self, target: str) -> float | None:
        """Return the price of a call in a batch, as a share of the usual price; None if there are no batches."""
        provider = self.providers.get(target.partition("/")[0])
        if provider is None or provider.batch is None:
            return None
        own = self.models.get(target, ModelFacts()).batch_share
        return provider.batch.share if own is None else own


def load(own: Path | None = None) -> Settings:
    """Return the settings: the shipped ones, overridden by the user's file.

    Args:
        own: The user's file; by default ``limner.toml`` in the working folder, if it exists.
    """
    path = own if own is not None else Path.cwd() / OWN
    files = path, catalogue.refreshed_file(), trust_file()
    return _load_cached(path, own is not None, tuple(map(_read_bytes, files)))


@lru_cache(maxsize=4)
def _load_cached(path: Path, required: bool, _contents: tuple[bytes | None, ...]) -> Settings:
    """Return the settings; they are cached until one of the user's two files changes."""
    merged = _merge(load_shipped(), catalogue.refreshed_rows())
    if required or path.is_file():
        merged = _merge(merged, read_toml(path))
    try:
        settings = Settings.model_validate(merged)
        if not required and path.is_file() and not is_trusted(path):
            routes = foreign_routes(settings)
            for provider in settings.providers.values():
                if provider.key_env in routes and set(provider.key_hosts) & set(routes[provider.key_env]):
                    provider.distrust(distrust_message(path, routes))
        return settings
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            message = f"no such field; choose from: {', '.join(_fields(first['loc']))}"
        path_parts = ("painters", *first["loc"][1:]) if first["loc"][0] in ("wires", "usual") else first["loc"]
        place = ".".join(str(part) for part in path_parts)
        raise DataError(f"{place}: {message}", file=path) from error


def foreign_routes(settings: Settings) -> dict[str, list[str]]:
    """Return the hosts to which keys are sent, apart from the shipped services' own, by variable."""
    shipped = _key_hosts(Settings.model_validate(load_shipped()))
    sent = _key_hosts(settings)
    routes = {variable: foreign_hosts(hosts, shipped.get(variable, ())) for variable, hosts in sent.items()}
    return {variable: hosts for variable, hosts in routes.items() if hosts}


def _key_hosts(settings: Settings) -> dict[str, set[str]]:
    """Return the hosts that receive each key, by variable."""
    hosts: dict[str, set[str]] = {}
    for provider in settings.providers.values():
        if provider.key_env is not None:
            hosts.setdefault(provider.key_env, set()).update(provider.key_hosts)
    return hosts


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def load_shipped() -> dict[str, Any]:
    """Return the merged contents of the shipped files."""
    merged: dict[str, Any] = {}
    for file in (PROVIDERS_FILE, SERVICES_FILE, catalogue.MODELS_FILE):
        merged = _merge(merged, read_toml(file))
    return merged


def _fields(place: tuple[int | str, ...]) -> list[str]:
    """Return the names of the fields allowed at the place of an unknown one."""
    more = [*Provider.model_fields, *PainterFacts.model_fields] if place[0] == "wires" and len(place) < 4 else []
    return [*known_keys(Settings, place), *more]


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def parse_value(word: str) -> Any:
    """Return a word parsed as JSON, or the word itself.

    >>> parse_value("0.5"), parse_value("true"), parse_value("high")
    (0.5, True, 'high')
    """
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return word
