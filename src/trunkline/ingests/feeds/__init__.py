"""The sources of ingests, one module each; `base` says what they must do.

What comes from outside is not trusted: sizes are bounded, and what cannot be read is set apart.
"""

from __future__ import annotations

from importlib import import_module

from trunkline.errors import InvalidSpec
from trunkline.ingests.feeds.base import Feed, Site
from trunkline.lake.this_machine import check

_FEEDS = {
    "folder": "folder.FolderFeed",
    "kafka": "kafka.kafka_feed",
    "http": "http.HttpFeed",
    "python": "python.PythonFeed",
    "rate": "rate.RateFeed",
    "objects": "objects.ObjectsFeed",
    "sql": "sql.sql_feed",
    "delta": "delta.DeltaFeed",
    "iceberg": "iceberg.IcebergFeed",
    "api": "api.ApiFeed",
}


def open_feed(site: Site) -> Feed:
    """The feed of an ingest's source, if it may be read. Its libraries are loaded only now."""
    place = _FEEDS.get(site.source.kind)
    if place is None:
        raise InvalidSpec(f'There is no source "{site.source.kind}".')
    check(site.connection, site.core)
    module, _, name = place.partition(".")
    found: Feed = getattr(import_module(f"{__name__}.{module}"), name)(site)
    return found
