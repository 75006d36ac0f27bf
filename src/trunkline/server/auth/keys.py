"""The server's key: signatures, and the secrets of the S3 door."""

from trunkline.lake.keys import s3_access_key, s3_secret, server_key, sign, verify

__all__ = ["s3_access_key", "s3_secret", "server_key", "sign", "verify"]
