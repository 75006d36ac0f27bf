"""The S3 door: buckets are repos, keys are `<ref>/<path>`, for every program that speaks S3.

`create_s3_app` gives an application of its own, for a port of its own. A request goes through
`app` (one id, one shape of errors), `signing` (who asks), `operations` (what it means and what
it needs), then the operation. Writes of one person to one branch that come at the same time
share a commit (`gathering`). Nothing here knows SQL or where bytes are kept.
"""

from trunkline.server.s3.app import create_s3_app

__all__ = ["create_s3_app"]
