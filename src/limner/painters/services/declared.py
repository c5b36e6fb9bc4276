"""Services described by ``[painters.NAME]``: requests made from templates, replies read by paths."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ...calls import Fault, Kind
from ...calls.http import error_message, kind_of
from ...core.errors import UsageError
from ...core.images import PreparedImage
from ...core.json_text import fill, first_value_at_path, set_at_path, value_at
from ...core.settings import Settings
from ...core.wire import ANY_OPTION, WireFormat
from ...store import Blobs
from ..base import PaintRequest
from ..service import LINK, ApiPainter, Service, ServiceImage
from ..service_calls import OneReplyPainter

_SIDES = re.compile(r"(\d+)[x*](\d+)")


class DeclaredPainter(ApiPainter):
    """A painter at a service that ``[painters.NAME]`` describes; see `limner.core.wire.WireFormat`."""

    def __init__(
        self, name: str, spec: str, model: str, options: Mapping[str, Any], settings: Settings, blobs: Blobs
    ) -> None:
        service = spec.partition("/")[0]
        if service not in settings.wires:
            raise UsageError(f"nothing describes the service {service}: add [painters.{service}] to limner.toml")
        self.format: WireFormat = settings.wires[service].of_model(model)
        self.known = frozenset({*self.format.options, *(["size"] if self.format.sized else [])})
        if ANY_OPTION in self.format.options:
            self.known |= options.keys()
        super().__init__(name, spec, model, options, settings, blobs)

    def pictures_taken(self, model: str) -> int:
        """Return how many pictures the description allows."""
        return self.format.edit.most if self.format.edit else 0

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the described body, filled with the request's prompt, options and pictures."""
        size = self.size(request)
        words: dict[str, Any] = {"model": self.model, "prompt": request.prompt, "size": size, **self.seed(request)}
        if sides := _SIDES.fullmatch(str(size)):
            words |= {"width": int(sides[1]), "height": int(sides[2])}
        body: dict[str, Any] = fill(copy.deepcopy(self.format.body), words.get)
        for option, value in self.options_of(self.known - {"size"}).items():
            set_at_path(body, f"{self.format.options_at}.{option}".lstrip("."), value)
        pictures = self.pictures(request)
        if (edit := self.format.edit) is not None and pictures:
            for field, shown in (
                [(edit.fields[0], pictures)] if edit.listed else zip(edit.fields, pictures, strict=False)
            ):
                set_at_path(body, field, shown)
        return body

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path that takes this request."""
        edit = self.format.edit
        way = edit.submit if edit is not None and edit.submit and self._edits(body) else self.format.submit
        return str(fill(way, {"model": quote(self.model, safe="/")}.get))

    def _edits(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body contains pictures."""
        return any(value_at(body, field) is not None for field in (self.format.edit.fields if self.format.edit else ()))

    def write_picture(self, image: PreparedImage) -> str:
        """Return a picture as described: as base64 or as a data URL."""
        return image.packed[1] if self.format.edit and self.format.edit.written == "base64" else image.url

    async def encode(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the request in the form that `limner.calls.http.exchange` takes."""
        edit = self.format.edit
        if self.format.encoding == "json" and not (edit and edit.written == "file" and self._edits(body)):
            return await super().encode(body)
        pictures: list[tuple[str, Mapping[str, Any]]] = []
        fields = dict(body)
        for field in edit.fields if edit else ():
            shown = fields.pop(field, [])
            pictures += [(field, picture) for picture in (shown if isinstance(shown, list) else [shown])]
        return {"form": replace(await self.form(fields, pictures), whole=True)}

    def headers(self, *, submit: bool = True) -> dict[str, str]:
        """Return the headers of the description, and the key."""
        return {**self.format.headers, **self.provider.key_headers()}

    def image(self, reply: Mapping[str, Any]) -> str | None:
        """Return the image in a reply as a link or a data URL; None if it has none."""
        where = first_value_at_path(reply, self.format.image)
        if self.format.link is not None and isinstance(where, dict):
            return self.address(fill(self.format.link, lambda name: quote(str(where.get(name, "")), safe="")))
        if not isinstance(where, str) or not where:
            return None
        return where if where.startswith((*LINK, "data:")) else f"data:,{where}"

    def state(self, reply: Mapping[str, Any]) -> str | None:
        """Return the state that a reply reports: the service's own word, or JSON if it is not a text."""
        state = None if self.format.state is None else value_at(reply, self.format.state)
        return state if state is None or isinstance(state, str) else json.dumps(state)

    def failure(self, reply: Mapping[str, Any]) -> tuple[Kind, str] | None:
        """Return the kind of fault behind a failed state, and the service's message; None if nothing failed."""
        state = self.state(reply)
        if state is None or state not in self.format.failed:
            return None
        kind = self.format.failed[state]
        return ("refusal" if self._refuses(reply) else kind), f"{state}: {self.error_text(reply)}"[:500]

    def reported(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """Return the prompt and the cost in a reply, each None unless the description gives its path."""
        paths = self.format.prompt_sent, self.format.cost
        prompt, cost = (None if path is None else value_at(reply, path) for path in paths)
        return {"prompt": prompt if isinstance(prompt, str) else None, "cost": cost}

    def error_text(self, reply: Mapping[str, Any]) -> str:
        """Return the error message of a reply."""
        error = first_value_at_path(reply, self.format.error)
        return error_message(error) if error else "no reason given"

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault behind an error status; the service's own words for a refusal take precedence."""
        return "refusal" if 400 <= status < 500 and self._refuses(body) else kind_of(status, body)

    def _refuses(self, body: Any) -> bool:
        text = str(body).casefold()
        return any(word.casefold() in text for word in self.format.refusals)


class DeclaredReplies(DeclaredPainter, OneReplyPainter):
    """A painter whose described service draws in one exchange."""

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the image in the reply, with the prompt and cost if the description gives their paths."""
        if failure := self.failure(reply):
            raise Fault(*failure, cost=None, result=dict(drawn.raw))
        if (where := self.image(reply)) is None:
            raise Fault("server", f"no image in the reply: {self.error_text(reply)}", cost=None, result=dict(drawn.raw))
        return where, replace(drawn, **self.reported(reply))


SERVICE = Service("a service described in settings that replies with the image", DeclaredReplies)
