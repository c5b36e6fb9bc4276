"""Keys in disguise: shortened, encoded, or with the characters that separate a login from a host."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from limner.core.redaction import redact, without_keys, without_secrets
from limner.store.store import hide_password

KEY = "sk-canary+/5e5Zq0fR7wLhT2Xy"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_API_KEY", KEY)


@pytest.mark.parametrize(
    "spelling",
    [
        KEY[:12],
        KEY[:20],
        f"{KEY[:12]}...{KEY[-4:]}",
        f"{KEY[:14]}…{KEY[-4:]}",
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"u:{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"me:{KEY}@host".encode()).decode(),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        quote(KEY, safe=""),
        quote(KEY),
        quote(KEY, safe="").lower().replace(KEY.lower()[:9], KEY[:9]).replace("zq0fr7wlht2xy", "Zq0fR7wLhT2Xy"),
        "".join(f"%{byte:02X}" for byte in KEY.encode()),
        KEY.replace("+", "&#43;").replace("/", "&#x2F;"),
        KEY.replace("/", "\\/"),
        KEY.replace("+", "\\u002b").replace("/", "\\u002f"),
        KEY[-12:],
        f"…{KEY[-16:]}",
        f"{KEY[:7]}...{KEY[-5:]}",
    ],
)
def test_disguised_keys_are_removed(spelling: str) -> None:
    for clean in (redact, without_secrets):
        said = clean(f"invalid key {spelling} given")
        assert "***" in said
        for length in range(6, len(spelling)):
            assert spelling[-length:] not in said or length < 9


def test_ordinary_text_is_kept() -> None:
    text = "sk-canary is a prefix; 5e5 is a number; dGhpcyBpcyBwbGFpbg== is plain"
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:p@ss@w0rd@host/db?blobs=x",
        "postgresql://host/db?sslpassword=p@ssw0rd&blobs=x",
        "postgresql://host/db?password=p@ssw0rd",
    ],
)
def test_store_password_is_hidden_whole(url: str) -> None:
    shown = hide_password(url)
    assert "ss@w0rd" not in shown
    assert "ssw0rd" not in shown
    assert "host/db" in shown
    assert "w0rd" not in redact("cannot connect to postgresql://me:p@ss@w0rd@host/db")


def test_programs_get_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"PATH": "/bin", "FAKE_API_KEY": KEY, "PROXY": f"http://me:{KEY}@host"}
    assert without_keys(environ) == {"PATH": "/bin"}
