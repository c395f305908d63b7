"""The variables of the node's environment that tasks inherit: settings of programs, and no secrets."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

# Variables that TensorFlow, its accelerators, its libraries and Python read. docs/tasks.md has the same list.
USUAL = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "XDG_CACHE_HOME"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_*", "GLIBC_TUNABLES", "JAVA_HOME"),
    *("PYTHON*", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("CUDA_*", "NVIDIA_*", "NCCL_*", "CUDNN_*", "CUBLAS_*", "ROCR_*", "HIP_*", "HSA_*", "TPU_*"),
    *("ROCM_*", "MIOPEN_*", "RCCL_*", "LIBTPU_*", "UCX_*", "TCMALLOC_*", "TFDS_DATA_DIR", "TFHUB_CACHE_DIR"),
    *("TF_*", "TF2_*", "XLA_*", "KERAS_*", "ONEDNN_*", "DNNL_*", "GRPC_*", "GLOG_*", "ABSL_*"),
    *("OMP_*", "KMP_*", "GOMP_*", "MKL_*", "OPENBLAS_*", "NUMEXPR_*", "ARROW_*"),
)
# Names that match a usual pattern, but may be secrets: TF_VAR_* and TF_TOKEN_* belong to Terraform.
_SECRET = re.compile(r"SECRET|PASSW|TOKEN|CREDENTIAL|(^|_)(API|ACCESS|PRIVATE|ENCRYPTION)?_?KEY(_|$)|^TF_VAR_")
_PASSWORD_IN_URL = re.compile(r"://[^/@\s]*:[^/@\s]*@")
# Variables of the node itself: no task inherits them, even if they are named.
_NODE_VARIABLES = ("TENSORFLOW_IGNITE_*", "IGNITE_*", "TF_CONFIG")


def inherited(environment: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """Returns the part of an environment that a task inherits.

    Args:
        environment: The agent's environment.
        named: Further variables, each a name or a prefix with '*'; they may look like secrets.
    """
    patterns = tuple(named)
    return {
        name: value
        for name, value in environment.items()
        if not _is_any(name, _NODE_VARIABLES)
        and (_is_any(name, patterns) or (_is_any(name, USUAL) and is_harmless(name, value)))
    }


def is_harmless(name: str, value: str) -> bool:
    """Whether neither the name nor the value of a variable looks like a secret."""
    return not _SECRET.search(name) and not _PASSWORD_IN_URL.search(value)


def _is_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
