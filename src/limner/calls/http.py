"""One HTTP exchange with a service, for judges, models and painters alike: JSON out, JSON in, faults by kind.

What comes is bounded in bytes and depth, nothing is redirected, no cookie is kept, and no key is in what is given out.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from typing import IO, Any, Protocol

import httpx2

from ..core.images import MAX_BYTES
from ..core.json_text import TooComplex, parse_json
from ..core.redaction import bare, lead_on, redacted, without_secrets
from . import Fault, Kind

CONNECT_S = 30.0
POOLS = 8
"""Connections are spread over so many pools: for each request a pool looks at every one that it keeps."""
LIMITS = httpx2.Limits(max_connections=64, max_keepalive_connections=16)
"""Of one pool."""
IMAGE_REPLY_BYTES = MAX_BYTES * 4 // 3 + 2**22
"""Bytes of a reply that may hold an image as base64."""
TEXT_REPLY_BYTES = 2**24
"""Bytes of a reply that holds none."""
TROUBLE = (httpx2.HTTPError, httpx2.InvalidURL)
"""Exceptions of the client: no reply came."""
NO_ADDRESS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol)
NO_TLS = frozenset({"CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER"})
"""Reasons of TLS errors that another try does not change: an invalid certificate, or a server without TLS."""
_turns = count()
# At INFO the client logs the address of every request, with its login and its query.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Form:
    """A multipart form: fields by name, and files as name, file name, bytes and media type.

    Attributes:
        whole: Whether fields go as parts too, for services that take no other form even where there is no file.
    """

    fields: Mapping[str, str]
    files: Sequence[tuple[str, tuple[str, bytes | IO[bytes], str]]]
    whole: bool = False

    def sent(self) -> dict[str, Any]:
        """As the client takes it."""
        if not self.whole:
            return {"data": self.fields, "files": self.files}
        return {"files": [*((name, (None, value)) for name, value in self.fields.items()), *self.files]}


def client() -> httpx2.AsyncClient:
    """Return the next client of the running event loop: requests take the pools in turn."""
    return _client(asyncio.get_running_loop(), next(_turns) % POOLS)


@lru_cache(maxsize=4 * POOLS)
def _client(_loop: asyncio.AbstractEventLoop, _pool: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        limits=LIMITS,
        headers={"Accept-Encoding": ENCODINGS},
        # A cookie would be a key that one service gave and that goes along to whatever else is on its host.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
    )


def kind_of(status: int, body: object) -> Kind:
    """Return the kind of fault behind an HTTP status and what its body says."""
    said = _body_words(body)
    # A mere rate limit may say where to buy a higher one.
    if status == 402 or (any(word in said for word in CREDITS) and "rate_limit" not in said):
        return "credits"
    if status in (400, 403, 422) and any(word in said for word in REFUSALS):
        return "refusal"
    if status in (401, 403):
        return "auth"
    if status in (404, 405) or (status == 400 and "model_not_found" in said):
        return "setup"
    if status == 408:
        return "timeout"
    if status in (409, 425, 429):
        return "rate_limit"
    return "server" if status >= 500 else "bad_request"


async def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: Any = None,
    form: Form | None = None,
    timeout: float = 600.0,
    kinds: Callable[[int, Any], Kind] = kind_of,
    most: int = IMAGE_REPLY_BYTES,
) -> dict[str, Any]:
    """Send a request and return the JSON object that comes back, without the key should the service repeat it.

    Args:
        method: ``GET`` or ``POST``.
        url: Where to.
        headers: With the key.
        body: JSON to send.
        form: Fields and files to send instead.
        timeout: Seconds to wait for the reply.
        kinds: Tells the kind of fault by status and body, where a service has its own words.
        most: Bytes the reply may have.

    Raises:
        Fault: By what the body says first, by status second, with the body as its result; a cost of None where the
            service may have charged.
    """
    limit = httpx2.Timeout(timeout, connect=CONNECT_S)
    sent = {"json": body} if form is None else form.sent()
    try:
        async with client().stream(method, url, headers=dict(headers), timeout=limit, **sent) as reply:
            if 300 <= reply.status_code < 400:
                raise redirected(reply)
            status, wait = reply.status_code, retry_after(reply.headers.get("retry-after"))
            content = await _content(reply, most)
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"no reply within {timeout:g} s ({type(error).__name__})", cost=None) from error
    except TROUBLE as error:
        detail = redacted(f"{type(error).__name__}: {error}")
        if is_wrong_address(error):
            raise Fault("setup", f"{bare(url)}: {detail}") from error
        raise Fault("network", detail, cost=None) from error
    if status >= 400:
        found = _error_body(content)
        result = found if isinstance(found, dict) else {"error": found}
        raise Fault(kinds(status, found), f"{status}: {error_message(found)}", retry_after=wait, result=result)
    try:
        found = without_secrets(parse_json(content))
    except TooComplex as error:
        raise Fault("unreadable", f"{status}: the reply is {error}", cost=None) from error
    except ValueError as error:
        raise Fault("server", f"{status}: the reply is not JSON: {_words(content)}", cost=None) from error
    if not isinstance(found, dict):
        raise Fault("server", "the reply is not a JSON object", cost=None)
    return found


def is_wrong_address(error: BaseException | None) -> bool:
    """Return whether an exception of `TROUBLE` says that the address is wrong, so that no try can reach it."""
    while error is not None:
        if isinstance(error, NO_ADDRESS) or (isinstance(error, ssl.SSLError) and error.reason in NO_TLS):
            return True
        error = error.__cause__ or error.__context__
    return False


def redirected(reply: httpx2.Response) -> Fault:
    """Return the fault of a service that sends a request elsewhere: prompt, pictures and key go where the user said."""
    to = bare(lead_on(str(reply.url), reply.headers.get("location", "")))
    detail = f"{reply.status_code}: the service sends requests on to {to}, where Limner does not follow"
    return Fault("setup", redacted(f"{detail}; should that be right, make it the base_url in limner.toml"))


async def _content(reply: httpx2.Response, most: int) -> bytes:
    """Return the body; of an error's as much as may come.

    Raises:
        Fault: It is larger, or packed in a way that cannot be read.
    """
    failed = reply.status_code >= 400
    try:
        return bytes(await read_bounded(reply, most))
    except TooLarge as error:
        if failed:
            return error.head
        raise Fault("unreadable", f"{reply.status_code}: {error}", cost=None) from error
    except BadPacking as error:
        if failed:
            return str(error).encode()
        raise Fault("server", f"{reply.status_code}: {error}", cost=None) from error


async def download(url: str, most: int, timeout: float = 120.0) -> bytes:
    """Return what stands at an address that the user gave, sent without any key.

    Raises:
        Fault: It does not answer, answers with anything but success, or is longer than `most` bytes.
    """
    limit, place = httpx2.Timeout(timeout, connect=CONNECT_S), bare(url)
    try:
        async with client().stream("GET", url, timeout=limit) as reply:
            if 300 <= reply.status_code < 400:
                raise redirected(reply)
            if reply.status_code != 200:
                raise Fault("server", f"{place} answers with {reply.status_code}")
            return await _content(reply, most)
    except TROUBLE as error:
        raise Fault("network", redacted(f"{place}: {type(error).__name__}: {error}")) from error


def _error_body(content: bytes) -> Any:
    """Return what an error says; complaints about a key show its ends around asterisks."""
    try:
        return _complaint(without_secrets(parse_json(content)))
    except ValueError:
        return {"message": _words(content)}


def _complaint(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_complaint(item) for item in value]
    if isinstance(value, dict):
        return {_complaint(key): _complaint(item) for key, item in value.items()}
    return value


def _words(content: bytes) -> str:
    return redacted(content[: 2**16].decode("utf-8", "replace"))[:300]


REFUSALS = ("content_policy", "content_filter", "content filter", "moderation", "safety", "sensitive")
CREDITS = ("insufficient_quota", "billing", "credit", "exceeded your current quota")
LONGEST_WAIT_S = 600.0
"""A service that asks for more is asked again after this."""


def _body_words(body: object) -> str:
    """Return what a body says, for a look at its words; of an error about a named field, its code and type alone.

    Such an error repeats the field's name, and there are fields called ``moderation`` and ``safety_identifier``.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping) and error.get("param"):
        return f"{error.get('code')} {error.get('type')}".casefold()
    return str(body).casefold()


def error_message(body: Any) -> str:
    """Return the message in an error body, in one short line."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else None
    return " ".join(str(message or inner).split())[:400]


def retry_after(text: str | None) -> float | None:
    """Seconds a service asks to wait, given as a number or as a date; None when it does not say.

    Never more than `LONGEST_WAIT_S`, and never less than none.
    """
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return None if math.isnan(seconds) else min(LONGEST_WAIT_S, max(0.0, seconds))


ENCODINGS = "gzip, deflate"
"""What replies may be packed with: what can be unpacked a piece at a time."""
PIECE = 2**18


class TooLarge(Exception):
    """More came than may come."""

    def __init__(self, most: int, head: bytes) -> None:
        super().__init__(f"the reply is over {most:,} bytes")
        self.head = head


class BadPacking(Exception):
    """What came cannot be unpacked."""


class Body(Protocol):
    """A reply whose body is still to come."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What it says of itself."""
        ...

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """Its pieces as they come."""
        ...


async def read_bounded(reply: Body, most: int) -> bytearray:
    """Return the body of a reply that is open, unpacked.

    Args:
        reply: Open, as a client's `stream` gives it.
        most: Bytes the body may have, packed and unpacked.

    Raises:
        TooLarge: It has more; at most one piece more was taken in.
        BadPacking: It is packed in a way that was not asked for, or broken.
    """
    unpacker = _unpacker(reply.headers.get("content-encoding", ""))
    body, came = bytearray(), 0
    async for chunk in reply.aiter_raw():
        came += len(chunk)
        for piece in unpacker.unpack(chunk):
            body += piece
            if len(body) > most:
                raise TooLarge(most, bytes(body[:PIECE]))
        if came > most:
            raise TooLarge(most, bytes(body[:PIECE]))
    if not unpacker.whole:
        raise BadPacking("the reply ends before what is packed in it does")
    return body


class Unpacked:
    """A body as it is."""

    whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the same."""
        yield chunk


class Unpacker:
    """Unpacks gzip or deflate piece by piece, however much is packed into how little.

    Attributes:
        whole: Whether the end was reached, or nothing came at all.
    """

    def __init__(self, *windows: int) -> None:
        self._windows = list(windows)
        self._inflate = zlib.decompressobj(self._windows.pop(0))
        self._began = False
        self.whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the chunk holds, in pieces of at most `PIECE` bytes."""
        left = chunk
        while left and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(left, PIECE)
            except zlib.error as error:
                if self._began or not self._windows:
                    raise BadPacking(f"the reply cannot be unpacked: {error}") from error
                # Some servers send deflate without its frame.
                self._inflate = zlib.decompressobj(self._windows.pop(0))
                continue
            left, self._began = self._inflate.unconsumed_tail, True
            if piece:
                yield piece
        # A full last piece may have left more behind, with no input for it.
        while not self._inflate.eof and (piece := self._inflate.decompress(b"", PIECE)):
            yield piece
        self.whole = self._inflate.eof


def _unpacker(encoding: str) -> Unpacked | Unpacker:
    how = encoding.strip().lower()
    if how in ("", "identity"):
        return Unpacked()
    if how in ("gzip", "x-gzip"):
        return Unpacker(31)
    if how == "deflate":
        return Unpacker(15, -15)
    raise BadPacking(f"the reply is packed as {encoding[:40]!r}, which was not asked for")
