"""What clients are told when something is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from botocore.exceptions import ClientError


@contextmanager
def refused(code: str, status: int | None = None) -> Iterator[None]:
    """That a call of boto3 fails with this code of S3; of a HEAD there is the status alone."""
    with pytest.raises(ClientError) as caught:
        yield
    answer = caught.value.response
    assert answer["Error"]["Code"] == code, answer["Error"]
    if status is not None:
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == status
    assert answer["ResponseMetadata"]["RequestId"]
