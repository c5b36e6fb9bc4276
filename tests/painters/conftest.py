from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.images_client import ImageServer
from tests.painters.studio import KEY, KEY_VARIABLE


@pytest.fixture(scope="session")
def image_service() -> Iterator[ImageServer]:
    """The fake image service, started once per test process."""
    with ImageServer() as server:
        yield server


@pytest.fixture
def images(image_service: ImageServer, monkeypatch: pytest.MonkeyPatch) -> ImageServer:
    """The fake image service with all counts at nought, which lets in the one key that is set."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    image_service.reset()
    image_service.configure(api_key=KEY)
    return image_service
