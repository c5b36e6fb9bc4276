"""Recipes of workers, their environment, and the results and failures of their jobs.

A job ends with a result or in one of three kinds of failure; a job whose machine is lost is done elsewhere. A worker
gets only the environment variables listed here, and never a key.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.redaction import without_keys

START_S = 300.0
"""Default seconds that a worker may take to load."""
NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "LIMNER_CACHE", "LIMNER_FONTS", "TESSDATA_PREFIX", "HF_HOME", "HF_HUB_CACHE", "HF_ASSETS_CACHE", "HF_HUB_OFFLINE",
    "HF_ENDPOINT", "HF_HUB_ENABLE_HF_TRANSFER", "HF_HUB_DISABLE_XET", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE",
    "TRANSFORMERS_OFFLINE", "TRITON_CACHE_DIR", "TOKENIZERS_PARALLELISM", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
})  # fmt: skip
"""Variables for programs, caches, certificates and the network."""
PREFIXES = (
    "LC_", "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "VECLIB_", "OPENCV_", "ORT_",
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "HIP_", "ROCR_", "ROCM_", "HSA_",
)  # fmt: skip
"""Prefixes of variables for languages, threads and devices."""
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}


def cores() -> int:
    """Return how many workers can compute at once here."""
    return min(8, os.cpu_count() or 1)


def environment(more: Sequence[str] = (), *, single: bool = False) -> dict[str, str]:
    """Return the environment of a worker.

    Args:
        more: Further variables to pass on, unless they hold keys.
        single: Whether the worker may use only one core.
    """
    listed = {
        name: value for name, value in os.environ.items() if name in NAMES or name in more or name.startswith(PREFIXES)
    }
    safe = without_keys(listed)
    return safe | ONE_CORE if single else safe


@dataclass(frozen=True)
class Recipe:
    """The description of a worker.

    Attributes:
        label: Its name in messages.
        factory: ``module:name`` or ``/path/of/file.py:name``; called once with `args`, it returns
            the function that does the jobs.
        args: The factory's arguments, as JSON text.
        python: Another Python to run it with; by default this one, with this one's modules.
        workers: The most that may run at once.
        start_s: Seconds that one may take to load.
        single: Whether each may use only one core.
        variables: Environment variables passed on in addition to the usual ones.
        isolated: Whether it gets no environment and only the standard library, and does a single job.
        most: The most bytes of one answer beside its JSON.
        careful: Whether deaths at work count like deaths while loading, so that too many in a row stop the pool.
        gpu: Whether it computes on a GPU if there is one; a cluster then assigns it a share of one.
    """

    label: str
    factory: str
    args: str = "{}"
    python: str | None = None
    workers: int = field(default_factory=cores)
    start_s: float = START_S
    single: bool = True
    variables: tuple[str, ...] = ()
    isolated: bool = False
    most: int = 0
    careful: bool = False
    gpu: bool = False


@dataclass(frozen=True)
class JobResult:
    """A worker's result for one item: a JSON value, and bytes."""

    value: Any
    bodies: tuple[bytes, ...] = ()


class JobFailure(Exception):
    """The failure of one item, as reported by the worker.

    Attributes:
        kind: ``image`` if the image is to blame, ``error`` for any exception, or the worker's own word.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class WorkerDeath(Exception):
    """The death of a worker that gave no proper answer.

    Attributes:
        loading: Whether it died while loading.
        late: Whether it was ended because it took too long.
        code: Its exit code, negative for a signal.
        heard: The end of its printed output, without keys.
    """

    def __init__(
        self, message: str, *, loading: bool = False, late: bool = False, code: int | None = None, heard: str = ""
    ) -> None:
        super().__init__(message)
        self.loading, self.late, self.code, self.heard = loading, late, code, heard


class WorkerLost(Exception):
    """The loss of a worker together with its machine; other workers can do its jobs."""


class WorkerUnfit(Exception):
    """The failure of all jobs of a kind, because no worker can do them.

    Attributes:
        loading: Whether this was noticed while loading.
    """

    def __init__(self, message: str, *, loading: bool = False) -> None:
        super().__init__(message)
        self.loading = loading
