"""What processes that we start see of our environment: what is named here, and nothing else."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

# What any program may need. None of it is a secret.
_PLAIN = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME"),
        *("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHASHSEED", "KRB5_CONFIG", "KRB5CCNAME"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    )
)
_PROXIES = frozenset(("http_proxy", "https_proxy", "no_proxy"))
# What Spark needs beside that, and who reaches the store from its tasks.
_SPARK = ("SPARK_", "HADOOP_", "YARN_", "AWS_", "GOOGLE_", "AZURE_", "PYSPARK_")
# These would turn the JVM into something else than the driver we ask for.
_DROPPED = frozenset(
    (
        *("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE", "SPARK_ENV_LOADED"),
        *("SPARK_CONNECT_MODE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_SUBMIT_ARGS"),
        *("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"),
        *("PYSPARK_DRIVER_PYTHON", "PYSPARK_DRIVER_PYTHON_OPTS"),
        # pyspark's notes to itself of what a JVM has told it.
        *("SPARK_BUFFER_SIZE", "SPARK_AUTH_SOCKET_TIMEOUT"),
    )
)
_DUMPABLE = 4


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What people's code sees of this process's environment, where it has a process of its own."""
    return {name: value for name, value in environ.items() if is_plain(name)}


def driver_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What the JVM, and with it each task that it starts, sees of this process's environment."""
    return {
        name: value
        for name, value in environ.items()
        if (is_plain(name) or name.startswith(_SPARK)) and name not in _DROPPED
    }


def is_plain(name: str) -> bool:
    return name in _PLAIN or name.startswith("LC_") or name.lower() in _PROXIES


def keep_to_itself() -> None:
    """Have no other process of this user look into this one, at its memory or its environment.

    Who has the rights of root still can.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_DUMPABLE, 0, 0, 0, 0)
