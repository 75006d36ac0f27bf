"""Buckets as Spark reaches them: through Hadoop's own file systems, with the store's settings.

The settings are those of one bucket, so that what a user has set for others stays. They go to
Spark over its socket, never into a file, a command line or a log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trunkline.errors import Precondition
from trunkline.storage.objects.aws_profile import profile_options

if TYPE_CHECKING:
    from trunkline.engine.session import Session

_YES = ("1", "true", "yes", "on")
_ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"
_CREDENTIALS = {
    "access_key_id": "access.key",
    "secret_access_key": "secret.key",
    "session_token": "session.token",
}


def spark_uri(uri: str) -> str:
    """An object's address in Hadoop's words: it calls S3 s3a."""
    return "s3a://" + uri[5:] if uri.startswith("s3://") else uri


def hadoop_conf(
    address: tuple[str, Mapping[str, str]] | None, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """What Hadoop must know to reach a store; what is not said here it finds by itself."""
    if address is None or not address[0].startswith("s3://"):
        return {}
    url, options = address
    said = {**profile_options(environ), **_from_environ(environ), **_plain(options)}
    conf: dict[str, str] = {}
    if endpoint := said.get("endpoint") or said.get("endpoint_url"):
        conf["endpoint"] = endpoint
        conf["connection.ssl.enabled"] = "false" if endpoint.startswith("http://") else "true"
        virtual = said.get("virtual_hosted_style_request", "").lower() in _YES
        conf["path.style.access"] = "false" if virtual else "true"
    if region := said.get("region") or ("us-east-1" if endpoint else ""):
        conf["endpoint.region"] = region
    if said.get("skip_signature", "").lower() in _YES:
        conf["aws.credentials.provider"] = _ANONYMOUS
    elif "access_key_id" in said:
        conf |= {name: said[ours] for ours, name in _CREDENTIALS.items() if ours in said}
    # No name is ever written twice: there is nothing to look for before a write.
    conf["performance.flags"] = "create"
    bucket = urlsplit(url).netloc
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in conf.items()}


def _plain(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower().removeprefix("aws_"): str(value) for name, value in options.items()}


def _from_environ(environ: Mapping[str, str]) -> dict[str, str]:
    names = {
        "endpoint": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "skip_signature": ("AWS_SKIP_SIGNATURE",),
        **{name: (f"AWS_{name.upper()}",) for name in _CREDENTIALS},
    }
    found = {name: next(filter(None, map(environ.get, of)), "") for name, of in names.items()}
    return {name: value for name, value in found.items() if value}


def introduce(session: Session) -> None:
    """Tell Spark of the lake's bucket. What `spark.conf` says of it is left as it is."""
    if session.context is None:
        return  # Spark Connect: the server has settings of its own
    conf: Any = session.context._jsc.hadoopConfiguration()
    for name, value in session.options.bucket.items():
        if f"spark.hadoop.{name}" not in session.options.conf:
            conf.set(name, value)


def reach(session: Session, bucket: str) -> None:
    """Tell Spark of a bucket that the lake refers to, as of its own; what is said of it stays."""
    if session.context is None:
        return
    conf: Any = session.context._jsc.hadoopConfiguration()
    for name, value in hadoop_conf((f"s3://{bucket}", session.options.outside)).items():
        if conf.get(name) is None:
            conf.set(name, value)


def check(session: Session, uri: str) -> None:
    """Refuse what Spark has no file system for, before it says so in a hundred lines."""
    scheme = uri.partition(":")[0]
    if scheme in ("file", "tlslice") or session.context is None:
        return
    context: Any = session.context
    hadoop, conf = context._jvm.org.apache.hadoop, context._jsc.hadoopConfiguration()
    try:
        hadoop.fs.FileSystem.getFileSystemClass(scheme, conf)
    except Exception as error:
        raise _missing(scheme, str(hadoop.util.VersionInfo.getVersion())) from error


def _missing(scheme: str, hadoop: str) -> Precondition:
    if scheme == "s3a":
        return Precondition(
            "There is data on S3, which Spark cannot reach without the package hadoop-aws.",
            hint=f"trunkline config set spark.packages org.apache.hadoop:hadoop-aws:{hadoop}",
        )
    return Precondition(
        f"There is data on {scheme}://, which Spark cannot reach without a package for it.",
        hint="Name one in spark.packages, and its settings (spark.hadoop.…) in spark.conf.",
    )
