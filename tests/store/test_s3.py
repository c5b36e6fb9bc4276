"""Images in a bucket: what fails for a moment is asked again, what fails for good is told with what to do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from limner.core.errors import LostImage, StoreError, UsageError
from limner.store import Blobs, Store
from limner.store import blobs as blobs_module
from tests.s3 import KEY, SECRET, FailingBucket, told
from tests.support import picture

pytest.importorskip("obstore", reason="buckets come with limner[s3]")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs_module, "RETRIES", 3)
    monkeypatch.setattr(blobs_module, "BACKOFF_S", 0.01)


@pytest.fixture
def bucket() -> Iterator[FailingBucket]:
    with FailingBucket() as bucket, told(bucket.url):
        yield bucket


def test_transient_service_failure_is_retried(bucket: FailingBucket) -> None:
    blobs = Blobs("s3://some-bucket/prefix")
    bucket.plan = [404, 503, 500, 200]
    sha256, _ = blobs.put(picture(1))
    assert bucket.asked == ["HEAD", "PUT", "PUT", "PUT"]
    assert bucket.objects == {f"/some-bucket/prefix/{sha256[:2]}/{sha256}.png": picture(1)}
    bucket.plan = [502, 200]
    assert blobs.get(sha256) == picture(1)


def test_truncated_response_is_retried_then_reported(bucket: FailingBucket) -> None:
    blobs = Blobs("s3://some-bucket")
    sha256, _ = blobs.put(picture(1))
    bucket.plan = [0]
    assert blobs.get(sha256) == picture(1)
    bucket.plan = [0] * 20
    with pytest.raises(StoreError, match="cannot be reached or fails"):
        blobs.get(sha256)


def test_persistent_service_failure_is_reported(bucket: FailingBucket) -> None:
    bucket.plan = [500] * 20
    with pytest.raises(StoreError, match=r"s3://some-bucket: the service .* fails: .*AWS_ENDPOINT_URL.*same command"):
        Blobs("s3://some-bucket").put(picture(1))
    assert bucket.asked == ["HEAD"] * 4


def test_missing_permissions_are_reported_without_retry(bucket: FailingBucket) -> None:
    bucket.plan = [403] * 20
    with pytest.raises(
        StoreError, match="the keys in the environment lack permissions; they need s3:GetObject"
    ) as caught:
        Blobs("s3://some-bucket").get("ab" * 32)
    # Not one image that is lost: none can be had.
    assert not isinstance(caught.value, LostImage)
    assert bucket.asked == ["GET"]


def test_unreachable_service_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with told("http://127.0.0.1:1"), pytest.raises(StoreError, match="s3://some-bucket: the service cannot be reached"):
        Blobs("s3://some-bucket").check()


def test_no_request_is_sent_without_keys(bucket: FailingBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID not set; keys come only from the environment"):
        Blobs("s3://some-bucket").check()
    assert bucket.asked == []


@pytest.mark.parametrize(
    "root", ["s3://me:hush-hush@some-bucket", "s3://some-bucket?secret=hush-hush", "s3://", "s3://B"]
)
def test_url_with_credentials_or_invalid_bucket_is_rejected(root: str) -> None:
    with pytest.raises(UsageError, match="keys come from the environment") as caught:
        Blobs(root)
    assert "hush" not in str(caught.value)


def test_keys_never_appear_in_messages(bucket: FailingBucket) -> None:
    bucket.plan = [403, 400, *[500] * 20]
    for _ in range(3):
        with pytest.raises(StoreError) as caught:
            Blobs("s3://some-bucket").put(picture(1))
        assert KEY not in str(caught.value)
        assert SECRET not in str(caught.value)


def test_sqlite_store_can_keep_images_in_bucket(bucket: FailingBucket, tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/results.db?blobs=s3://some-bucket/mine"
    with Store(url) as store:
        sha256, _ = store.blobs.put(picture(3))
        assert store.blobs.root == "s3://some-bucket/mine"
    assert list(bucket.objects) == [f"/some-bucket/mine/{sha256[:2]}/{sha256}.png"]
