"""Addresses of tables and their files: a repo is a bucket of the S3 door."""

from __future__ import annotations

from trunkline.model.commits import RepoName
from trunkline.server.iceberg.keys import file_key, object_key, table_key
from trunkline.server.s3.names import bucket_of


def table_location(repo: RepoName, path: str) -> str:
    """Of the table itself, where nothing can be put."""
    return f"s3://{bucket_of(repo)}/{table_key(path)}"


def object_location(repo: RepoName, commit: str, path: str, name: str) -> str:
    """Of a file about the table in a folder."""
    return f"s3://{bucket_of(repo)}/{object_key(commit, path, name)}"


def file_location(repo: RepoName, commit: str, path: str) -> str:
    return f"s3://{bucket_of(repo)}/{file_key(commit, path)}"
