"""Serving the page of a review, and the links of those who review."""

from __future__ import annotations

from collections.abc import Sequence

from .say import say


def serve_review(
    store: str, build: str, reviewers: Sequence[str], adjudicators: Sequence[str], new_links: bool, host: str, port: int
) -> None:
    """Serve a build's review until interrupted; tells the links of those who had none."""
    from ..build.open import open_build
    from ..build.reviewers import Reviewer, load_reviewers, save_reviewer
    from ..core.errors import UsageError
    from ..store.store import open_store

    try:
        from ..build.review_page import review_app
        from ..core.redaction import new_token, token_hash
        from ..serve.base import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"serving a review needs {error.name}: pip install 'limner[web]'; without it: --write and --read FILE"
        ) from error

    with open_store(store) as opened:
        open_build(opened, build)
        there, links = load_reviewers(opened, build), dict[str, str]()
        for name in (*reviewers, *adjudicators):
            if name in there and not new_links:
                say(f"{name} has a link already; --new-links makes another")
                continue
            links[name] = new_token()
            save_reviewer(opened, build, Reviewer(name, token_hash(links[name]), name in adjudicators))
        if not load_reviewers(opened, build):
            raise UsageError(f"nobody reviews {build} yet: name each with --reviewer NAME")

        def ready(address: str) -> None:
            for name, token in links.items():
                say(f"{name}: {address}/r/{token}/")
            say(f"serving the review of {build} at {address}; Ctrl-C ends it. `limner build run {build}` applies it")

        serve(review_app(opened, build), host, port, ready=ready)
