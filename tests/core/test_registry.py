"""What is registered is found by name; what is broken, double or hidden is told, and breaks nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pkgutil import resolve_name

import pytest

from limner.core import registry
from limner.core.errors import UsageError
from limner.core.registry import Registration, Registry, entries
from limner.doctor import REGISTRIES, check_registry


@dataclass(frozen=True)
class Thing:
    about: str = "a thing"
    usage: str = "thing/WORD"


@dataclass(frozen=True)
class Named(Thing):
    name: str = "right"


GOOD, RIGHT, NOTHING = Thing(), Named(), 7
HERE = __name__


def made(monkeypatch: pytest.MonkeyPatch, *found: Registration) -> Registry[Thing]:
    group = "limner.things"
    known = tuple(sorted(found, key=lambda entry: (entry.name, not entry.own)))
    monkeypatch.setattr(registry, "entries", lambda asked: known if asked == group else entries(asked))
    return Registry(group, "thing", Thing, "Or ask somebody")


OWN = Registration("own", f"{HERE}:GOOD")
OTHER = Registration("other", f"{HERE}:GOOD", "limner-more", "1.2")


def test_registry_lists_and_loads_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    things = made(monkeypatch, OWN, OTHER)
    assert (things.names(), things.own()) == (["other", "own"], ["own"])
    assert things.get("other") is GOOD
    assert (things.usages(), things.about("own")) == (["thing/WORD", "thing/WORD"], "a thing")
    with pytest.raises(UsageError, match=r"no thing 'odd'; installed: other, own\. Or ask somebody"):
        things.get("odd")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:THING", "ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{HERE}:ABSENT", "AttributeError: "),
        (f"{HERE}:NOTHING", f"it is not a {HERE}.Thing"),
        (f"{HERE}:RIGHT", "it calls itself 'right'"),
    ],
)
def test_broken_entry_is_reported_with_package(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    things = made(monkeypatch, OWN, Registration("bad", value, "limner-more", "1.2"))
    with pytest.raises(UsageError) as caught:
        things.get("bad")
    assert str(caught.value).startswith(f"the thing 'bad' of limner-more 1.2 ({value}) is broken: {message}")
    assert things.get("own") is GOOD
    assert (things.names(), things.usages(), things.about("bad")) == (["bad", "own"], ["bad", "thing/WORD"], "")
    check = check_registry("things", things)
    assert (check.state, check.detail.startswith("own; bad from limner-more 1.2: the thing 'bad' of")) == ("bad", True)


def test_duplicate_name_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = Registration("other", f"{HERE}:RIGHT", "limner-less", "3.0")
    things = made(monkeypatch, OWN, OTHER, twice)
    with pytest.raises(UsageError, match=r"the thing 'other' is registered twice, by limner-\w+ .+ and limner-\w+ "):
        things.get("other")
    assert things.names() == ["other", "own"]
    assert things.get("own") is GOOD
    assert check_registry("things", things).state == "bad"


def test_plugins_cannot_hide_builtin_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    hiding = Registration("own", f"{HERE}:NOTHING", "a-first-by-name", "1.0")
    things = made(monkeypatch, hiding, OWN)
    assert things.get("own") is GOOD
    check = check_registry("things", things)
    assert (check.state, check.detail) == (
        "note", "own; own from a-first-by-name 1.0: not used: Limner has one of the same name",
    )  # fmt: skip


def test_outdated_installation_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    things = made(monkeypatch, OTHER)
    for look in (things.own, lambda: things.get("own"), lambda: things.serves("own", ())):
        with pytest.raises(UsageError, match=r"limner\.things are not registered; reinstall Limner: pip install -e \."):
            look()


def test_provider_overrides_plugin_but_not_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    things = made(monkeypatch, OWN, OTHER)
    assert things.serves("own", {"own"})
    assert things.serves("other", {})
    assert not things.serves("other", {"other"})
    assert not things.serves("odd", {})


@pytest.mark.parametrize("group", ["exams", "painters", "services", "judges", "strategies", "probes"])
def test_listing_names_imports_no_modules(group: str) -> None:
    script = (
        "import json, sys; from limner.core.registry import names\n"
        f"found = names('limner.{group}')\n"
        "print(json.dumps([found, [name for name in sys.modules if name.startswith('limner.')]]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found, loaded = json.loads(done.stdout)
    assert found
    assert set(loaded) == {"limner.core", "limner.core.registry", "limner.core.errors"}


def test_all_builtin_entries_load() -> None:
    for name in REGISTRIES:
        found = resolve_name(REGISTRIES[name])
        own = found.own()
        assert own, name
        for one in own:
            found.get(one)
            assert found.about(one), f"{name}: {one}"
            assert "\n" not in found.about(one)
