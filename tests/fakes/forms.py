"""Reads a multipart form as a service does: fields as text, files by hash, in the order they came."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from tests.fakes.images import media_of, outline
from tests.fakes.refusals import need, refused

Json = dict[str, Any]


def decode_form(kind: str, raw: bytes) -> Json:
    """The form's fields; files stand under their name as a list.

    Args:
        kind: The request's content type, with its boundary.
        raw: The request's body.

    Raises:
        RefusedError: It is no form, a field comes twice, or a file is not what it says it is.
    """
    need(kind.startswith("multipart/form-data; boundary="), "Invalid content type: want multipart/form-data.")
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + raw)
    need(message.is_multipart(), "We could not parse the form of your request.")
    found: Json = {}
    for part in message.iter_parts():
        name, file = part.get_param("name", header="content-disposition"), part.get_filename()
        need(isinstance(name, str), "A part of the form has no name.")
        data = part.get_payload(decode=True)
        assert isinstance(data, bytes)
        if file is None:
            need(name not in found, f"Duplicate parameter: '{name}'.", str(name), "duplicate_parameter")
            found[str(name)] = data.decode("utf-8")
            continue
        media = part.get_content_type()
        if media != media_of(data) or file.rpartition(".")[2] != media.removeprefix("image/"):
            message_ = f"Invalid image file or mode for image {len(found.get(str(name), [])) + 1}."
            raise refused(message_, str(name), "invalid_image_file")
        found.setdefault(str(name), []).append(outline(data, media))
    return found
