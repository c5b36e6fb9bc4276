"""How a worker is made, what it learns of this process's environment, and what becomes of its jobs.

A job ends with a result, or in one of three ways to fail; one whose machine is lost has not ended. Of the environment a
worker gets what is listed here, and never a key.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.redaction import is_key, redacted

START_S = 300.0
"""Seconds a worker may take to load, unless its recipe says otherwise."""
NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "LIMNER_CACHE", "LIMNER_FONTS", "TESSDATA_PREFIX", "HF_HOME", "HF_HUB_CACHE", "HF_ASSETS_CACHE", "HF_HUB_OFFLINE",
    "HF_ENDPOINT", "HF_HUB_ENABLE_HF_TRANSFER", "HF_HUB_DISABLE_XET", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE",
    "TRANSFORMERS_OFFLINE", "TRITON_CACHE_DIR", "TOKENIZERS_PARALLELISM", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
})  # fmt: skip
"""Where programs, caches and certificates are, and how the network is reached."""
PREFIXES = (
    "LC_", "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "VECLIB_", "OPENCV_", "ORT_",
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "HIP_", "ROCR_", "ROCM_", "HSA_",
)  # fmt: skip
"""Of languages, threads and devices."""
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}


def cores() -> int:
    """How many workers can compute at once here, within reason."""
    return min(8, os.cpu_count() or 1)


def environment(more: Sequence[str] = (), *, single: bool = False) -> dict[str, str]:
    """Return the environment of a worker.

    Args:
        more: Further variables to hand on, where they are set; keys are not, whoever names them.
        single: Whether it is to keep to one core.
    """
    listed = {
        name: value for name, value in os.environ.items() if name in NAMES or name in more or name.startswith(PREFIXES)
    }
    found = {name: value for name, value in listed.items() if not is_key(name) and redacted(value) == value}
    return found | ONE_CORE if single else found


@dataclass(frozen=True)
class Recipe:
    """How a worker is made.

    Attributes:
        label: What it is called where it is told of.
        factory: ``module:name`` or ``/path/of/file.py:name``; called once with `args`, it gives what does the jobs.
        args: The factory's arguments, as JSON text.
        python: Another Python to run it with; by default this one, with this one's modules.
        workers: How many there may be at once.
        start_s: Seconds one may take to load.
        single: Whether each is to keep to one core.
        variables: Environment variables handed on beside the usual ones.
        isolated: Whether it gets no environment, no modules but the standard library's, and is to do one job.
        most: Bytes of all that one answer may bring beside its JSON.
        careful: Whether deaths at work count like those while loading: too many in a row, and no further one is tried.
        gpu: Whether it computes on a GPU where there is one; a cluster then gives it a share of one.
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
    """What a worker made of one item: a value of plain JSON, and bytes."""

    value: Any
    bodies: tuple[bytes, ...] = ()


class JobFailure(Exception):
    """An item that a worker could not do, by its own account.

    Attributes:
        kind: In the worker's words; ``image`` where the image is to blame, ``error`` for any exception.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class WorkerDeath(Exception):
    """A worker that gave no proper answer and is gone; says what became of it.

    Attributes:
        loading: Whether it had not even been ready.
        late: Whether it was ended because it took too long.
        code: Its exit code, below zero for a signal.
        heard: The end of what it printed, without keys.
    """

    def __init__(
        self, said: str, *, loading: bool = False, late: bool = False, code: int | None = None, heard: str = ""
    ) -> None:
        super().__init__(said)
        self.loading, self.late, self.code, self.heard = loading, late, code, heard


class WorkerLost(Exception):
    """A worker that is gone with the machine it stood on; that says nothing of its jobs, which others can do."""


class WorkerUnfit(Exception):
    """No worker can do any such job.

    Attributes:
        loading: Whether that was seen while it was loaded.
    """

    def __init__(self, said: str, *, loading: bool = False) -> None:
        super().__init__(said)
        self.loading = loading
