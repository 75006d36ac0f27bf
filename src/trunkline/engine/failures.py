"""Spark's failures in one line each: what is wrong, and how to mend it."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from trunkline.errors import (
    Failed,
    Precondition,
    TransformFailed,
    TrunklineError,
    Unavailable,
    Usage,
)

_MEMORY = "Lower spark.memory, or free memory on this machine."
_NO_MEMORY = (
    r"Could not reserve enough space|Cannot allocate memory|insufficient memory|"
    r"Too small maximum heap|Invalid maximum heap size|exceeds the maximum representable size"
)
_PYTHON_ERROR = r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*$"
_RAISED = r"PYTHON_EXCEPTION|thrown from the Python worker|api\.python\.PythonException"
_FRAME = r"File \"[^\"\n]*/code-\w+/([^\"\n]+)\", line (\d+), in [^\n]+\n\s*([^\n]+)"
_NO_CAUSE = ("at ", "...", "py4j.", "An error occurred while calling")
_SET = "It is set in spark.conf."
_LINES: tuple[tuple[str, type[TrunklineError], str, str], ...] = (
    (r"Illegal value for config key (spark[\w.]+): ([^\n]+)", Usage, "{0} is wrong: {1}.", _SET),
    (r"(spark\.[\w.]+) (should be|must be) ([^\n]+)", Usage, "{0} {1} {2}.", _SET),
    (r"\[INVALID_CONF_VALUE[\w.]*\] ([^\n]+?)\.?(?: SQLSTATE|$)", Usage, "{0}.", _SET),
    (_NO_MEMORY, Precondition,
     "Java cannot have the memory that spark.memory asks for.", _MEMORY),
    (r"System memory \d+ must be at least", Precondition,
     "Spark has too little memory to start.", "Raise spark.memory to 512MiB or more."),
    (r"\(\S+ executor (\d+)\): java\.lang\.OutOfMemoryError", Unavailable,
     "Spark's executor {0} ran out of memory.", "Raise spark.executor.memory in spark.conf."),
    (r"OutOfMemoryError", Unavailable, "Spark's driver ran out of memory.", "Raise spark.memory."),
    (r"unresolved dependency: ([^\n:]+)|UNRESOLVED DEPENDENCIES", Precondition,
     "A package of spark.packages cannot be fetched.",
     "Check the coordinates, and that this machine reaches its Maven repository."),
    (r"UnknownHostException: ([^\s:]+)", Unavailable, "The host {0} is not known here.", ""),
    (r"BindException|Can't assign requested address|Address already in use", Unavailable,
     "Spark cannot listen on a port of this machine.",
     "Look at spark.driver.bindAddress and spark.driver.port."),
    (r"No space left on device", Unavailable, "Spark's temporary folder is full.",
     "Free space, or set TMPDIR to a folder that has some."),
    (r"Class org\.apache\.hadoop\.fs\.s3a\S+ not found|No FileSystem for scheme \"s3a?\"",
     Precondition, "Spark cannot reach S3 without the package hadoop-aws.",
     "Name it in spark.packages: org.apache.hadoop:hadoop-aws with the version of Spark's Hadoop."),
    (r"ClassNotFoundException: (?:Class )?([\w.$]+)", Precondition, "Spark lacks the class {0}.",
     "Name the package that holds it in spark.packages."),
    (r"All masters are unresponsive|Master removed our application|stopped SparkContext",
     Unavailable, "Spark's master does not answer.",
     "Check that it runs and that spark.master names it."),
    (r"No module named '?trunkline|Can't get attribute '\w+' on <module 'trunkline", Precondition,
     "An executor's Python lacks this version of trunkline.",
     "Install it there, or name that Python in spark.pyspark.python."),
    (r"Cannot run program \"([^\"]+)\"", Precondition,
     "An executor has no Python at {0}.", "Name one in spark.pyspark.python."),
    (r"Python worker exited unexpectedly", Failed, "A task's Python crashed, at each of its tries.",
     "Perhaps it had too little memory; Spark's log may say more."),
    (r"PYTHON_VERSION_MISMATCH|different minor version", Precondition,
     "An executor's Python is another version than the driver's.",
     "Name the right one in spark.pyspark.python."),
)  # fmt: skip


def hush() -> None:
    """pyspark writes each error in a query to stderr, in JSON; we say it in our own words, once."""
    for kind in ("SQL", "DataFrame"):
        logging.getLogger(f"{kind}QueryContextLogger").setLevel(logging.CRITICAL)


def explain(text: str, log: Path | None = None) -> TrunklineError:
    """The error for what Spark said, be it an exception's text or the end of its log."""
    for pattern, kind, sentence, hint in _LINES:
        if found := re.search(pattern, text, re.MULTILINE):
            return kind(sentence.format(*(group or "" for group in found.groups())), hint=hint)
    hint = f"Its log is {log}." if log else ""
    return Failed(f"Spark failed: {_end(last_line(text))}", hint=hint)


def is_no_answer(error: Exception) -> bool:
    """Whether it is how py4j says that there is no JVM at the other end."""
    # Without py4j here, by name: nobody has to import it to know that it was not at fault.
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def raised(text: str) -> TransformFailed | None:
    """What a pipeline's own Python raised in Spark's workers, if that is what Spark tells of."""
    ours = any(re.search(pattern, text, re.MULTILINE) for pattern, *_ in _LINES)
    if ours or not re.search(_RAISED, text):
        return None
    frames = re.findall(_FRAME, text)
    place = "{}:{}: {}".format(*frames[-1]) if frames else ""
    return TransformFailed(_end(last_line(text)), hint=place)


def last_line(text: str) -> str:
    """The line that says most: the Python error of a task, else the first line of Java's."""
    python = re.findall(_PYTHON_ERROR, text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    java = [line for line in lines if not line.startswith(_NO_CAUSE)]
    chosen = python[-1] if python and "Traceback" in text else (java or ["it gave no reason"])[0]
    bare = re.sub(r"^(?:: )?(?:[\w$]+\.)+\w+: |\[[A-Z_.]+\] | SQLSTATE: \w+$", "", chosen)
    return bare[:500]


def _end(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."
