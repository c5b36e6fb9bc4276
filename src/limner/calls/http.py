"""One HTTP exchange with a service, for judges, models and painters alike: JSON out, JSON in, faults by kind.

Replies are limited in bytes and depth, redirects are not followed, cookies are not kept, and keys are removed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import count
from typing import IO, Any

import httpx2

from ..core.images import MAX_BYTES
from ..core.json_text import TooComplex, parse_json
from ..core.redaction import public_address, redact, resolve_link, without_secrets
from . import STOPPING, Fault, Kind
from .keys import idempotency_headers

CONNECT_S = 30.0
POOLS = 8
"""Number of connection pools: for each request a pool looks at every connection that it keeps."""
LIMITS = httpx2.Limits(max_connections=64, max_keepalive_connections=16)
"""Limits of one pool."""
IMAGE_REPLY_BYTES = MAX_BYTES * 4 // 3 + 2**22
"""Bytes of a reply that may hold an image as base64."""
TEXT_REPLY_BYTES = 2**24
"""Bytes of a reply that holds no image."""
ERROR_BYTES = 2**20
"""Bytes of an error that are read; the rest is cut off."""
TROUBLE = (httpx2.HTTPError, httpx2.InvalidURL)
"""Exceptions of the client when no reply arrives."""
UNCONNECTED = (httpx2.ConnectError, httpx2.ProxyError)
"""Exceptions of the client if no connection was made, so that nothing can have been charged."""
NO_ADDRESS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol)
NO_TLS = frozenset({"CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER"})
"""Reasons of TLS errors that a retry cannot cure: an invalid certificate, or a server without TLS."""
_turns = count()
# At INFO the client logs the address of every request, including login and query.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Form:
    """A multipart form: fields by name, and files as name, file name, bytes and media type.

    Attributes:
        whole: Whether fields are sent as parts too, for services that require multipart even without a file.
    """

    fields: Mapping[str, str]
    files: Sequence[tuple[str, tuple[str, bytes | IO[bytes], str]]]
    whole: bool = False

    def sent(self) -> dict[str, Any]:
        """Return the form as arguments of the HTTP client."""
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
        # A cookie would be a key of one service that is also sent to any other service on the same host.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
    )


def kind_of(status: int, body: object) -> Kind:
    """Return the kind of fault for an HTTP status and the words of its body."""
    words = _body_words(body)
    # A rate-limit error may mention where to buy a higher limit.
    if status == 402 or (any(word in words for word in CREDITS) and "rate_limit" not in words):
        return "credits"
    if status in (400, 403, 422) and any(word in words for word in REFUSALS):
        return "refusal"
    if status in (401, 403):
        return "auth"
    if status in (404, 405) or (status == 400 and any(word in words for word in UNKNOWN_MODEL)):
        return "setup"
    if status in (400, 415, 422) and any(word in words for word in NO_VISION):
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
    """Send a request and return the JSON object of the reply, with keys removed in case the service repeats them.

    Args:
        method: ``GET`` or ``POST``.
        url: The address.
        headers: The headers, including the key.
        body: JSON to send.
        form: Fields and files to send instead.
        timeout: Seconds to wait for the reply.
        kinds: Returns the kind of fault for status and body, for services with their own error words.
        most: The most bytes that the reply may have.

    Raises:
        Fault: Its kind follows from the body first, then from the status; its result is the body. Its cost is None if
            the service may have charged.
    """
    limit = httpx2.Timeout(timeout, connect=CONNECT_S)
    sent = {"json": body} if form is None else form.sent()
    headers = {**headers, **(idempotency_headers() if method == "POST" else {})}
    try:
        async with client().stream(method, url, headers=dict(headers), timeout=limit, **sent) as reply:
            if 300 <= reply.status_code < 400:
                raise redirected(reply)
            status, wait = reply.status_code, retry_after(reply.headers.get("retry-after"))
            content = await read_content(reply, most)
    except httpx2.ConnectTimeout as error:
        raise Fault("network", f"{public_address(url)}: no connection within {CONNECT_S:g} s") from error
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"no reply within {timeout:g} s ({type(error).__name__})", cost=None) from error
    except TROUBLE as error:
        detail = f"{public_address(url)}: {redact(f'{type(error).__name__}: {error}')}"
        if is_wrong_address(error):
            raise Fault("setup", detail) from error
        raise Fault("network", detail, cost=0.0 if isinstance(error, UNCONNECTED) else None) from error
    if status >= 400:
        answer = error_body(content)
        result = answer if isinstance(answer, dict) else {"error": answer}
        kind, detail = kinds(status, answer), f"{status}: {error_message(answer)}"
        if kind in STOPPING:
            detail += f" ({method} {public_address(url)})"
        raise Fault(kind, detail, retry_after=wait, result=result)
    try:
        answer = without_secrets(parse_json(content))
    except TooComplex as error:
        raise Fault("unreadable", f"{status}: the reply is {error}", cost=None) from error
    except ValueError as error:
        raise Fault("server", f"{status}: the reply is not JSON: {_words(content)}", cost=None) from error
    if not isinstance(answer, dict):
        raise Fault("server", "the reply is not a JSON object", cost=None)
    return answer


def is_wrong_address(error: BaseException | None) -> bool:
    """Return whether an exception of `TROUBLE` means that the address is wrong, so that retrying is useless."""
    while error is not None:
        if isinstance(error, NO_ADDRESS) or (isinstance(error, ssl.SSLError) and error.reason in NO_TLS):
            return True
        error = error.__cause__ or error.__context__
    return False


def redirected(reply: httpx2.Response) -> Fault:
    """Return the fault for a service that redirects a request; prompt, pictures and key are not sent elsewhere."""
    to = public_address(resolve_link(str(reply.url), reply.headers.get("location", "")))
    detail = f"{reply.status_code}: the service redirects requests to {to}, and Limner does not follow redirects"
    return Fault("setup", redact(f"{detail}; if it is right, use it; for a service, set base_url in limner.toml"))


async def read_content(reply: httpx2.Response, most: int) -> bytes:
    """Return the body of a reply, cut off if it is an oversized error.

    Raises:
        Fault: It is too large, or cannot be decompressed.
    """
    failed = reply.status_code >= 400
    try:
        return bytes(await read_bounded(reply, min(most, ERROR_BYTES) if failed else most))
    except TooLarge as error:
        if failed:
            return error.head
        raise Fault("unreadable", f"{reply.status_code}: {error}", cost=None) from error
    except BadPacking as error:
        if failed:
            return str(error).encode()
        raise Fault("server", f"{reply.status_code}: {error}", cost=None) from error


async def download(url: str, most: int, timeout: float = 120.0) -> bytes:
    """Return the content of an address given by the user, requested without any key.

    Raises:
        Fault: No answer, an answer other than success, or more than `most` bytes.
    """
    limit, place = httpx2.Timeout(timeout, connect=CONNECT_S), public_address(url)
    try:
        async with client().stream("GET", url, timeout=limit) as reply:
            if 300 <= reply.status_code < 400:
                raise redirected(reply)
            if reply.status_code != 200:
                raise Fault("server", f"{place} answers with {reply.status_code}")
            return await read_content(reply, most)
    except TROUBLE as error:
        raise Fault("network", redact(f"{place}: {type(error).__name__}: {error}")) from error


def error_body(content: bytes) -> Any:
    """Return the content of an error reply, with keys masked."""
    try:
        return _complaint(without_secrets(parse_json(content)))
    except ValueError:
        return {"message": _words(content)}


def _complaint(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_complaint(item) for item in value]
    if isinstance(value, dict):
        return {_complaint(key): _complaint(item) for key, item in value.items()}
    return value


def _words(content: bytes) -> str:
    return redact(content[: 2**16].decode("utf-8", "replace"))[:300]


REFUSALS = ("content_policy", "content_filter", "content filter", "moderation", "safety", "sensitive")
UNKNOWN_MODEL = ("model_not_found", "not a valid model")
NO_VISION = ("not a multimodal model", "support image", "support vision", "at most 0 image", "image input is not")
"""Words of services about a model that takes no pictures."""
CREDITS = ("insufficient_quota", "billing", "credit", "exceeded your current quota")
LONGEST_WAIT_S = 600.0
"""Longest wait before a retry, even if a service asks for more."""


def _body_words(body: object) -> str:
    """Return the text of a body to search for words; for an error about a named field, only its code and type.

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
    """Return the seconds that a service asks to wait, from a number or a date; None if it does not say.

    The result is between 0 and `LONGEST_WAIT_S`.
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
"""Accepted compressions: those that can be decompressed in pieces."""
PIECE = 2**18


class TooLarge(Exception):
    """The exception for a reply that is larger than allowed."""

    def __init__(self, most: int, head: bytes) -> None:
        super().__init__(f"the reply is over {most:,} bytes")
        self.head = head


class BadPacking(Exception):
    """The exception for a reply that cannot be decompressed."""


async def read_bounded(reply: httpx2.Response, most: int) -> bytearray:
    """Read and decompress the body of an open reply.

    Args:
        reply: An open reply from a client's `stream`.
        most: The most bytes that the body may have, compressed and decompressed.

    Raises:
        TooLarge: It has more; at most one more piece was read.
        BadPacking: Its compression was not requested, or is broken.
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
        raise BadPacking("the compressed reply is incomplete")
    return body


class Unpacked:
    """A body that is not compressed."""

    whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the chunk unchanged."""
        yield chunk


class Unpacker:
    """An incremental gzip or deflate decompressor with bounded pieces, safe against compression bombs.

    Attributes:
        whole: Whether the end was reached, or the body is empty.
    """

    def __init__(self, *windows: int) -> None:
        self._windows = list(windows)
        self._inflate = zlib.decompressobj(self._windows.pop(0))
        self._began = False
        self.whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of a chunk, in pieces of at most `PIECE` bytes."""
        left = chunk
        while left and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(left, PIECE)
            except zlib.error as error:
                if self._began or not self._windows:
                    raise BadPacking(f"the reply cannot be decompressed: {error}") from error
                # Some servers send deflate without its frame.
                self._inflate = zlib.decompressobj(self._windows.pop(0))
                continue
            left, self._began = self._inflate.unconsumed_tail, True
            if piece:
                yield piece
        # After a full last piece, more output may be left without further input.
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
    raise BadPacking(f"the reply is compressed as {encoding[:40]!r}, which was not requested")
