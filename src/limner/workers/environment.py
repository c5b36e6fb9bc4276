"""What a worker learns of this process's environment: what is listed here, and never a key."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..core.redaction import is_key, redacted

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


def environment(more: Sequence[str] = (), *, single: bool = False) -> dict[str, str]:
    """The environment of a worker.

    Args:
        more: Further variables to hand on, where they are set; keys are not, whoever names them.
        single: Whether it is to keep to one core.
    """
    listed = {
        name: value for name, value in os.environ.items() if name in NAMES or name in more or name.startswith(PREFIXES)
    }
    found = {name: value for name, value in listed.items() if not is_key(name) and redacted(value) == value}
    return found | ONE_CORE if single else found
