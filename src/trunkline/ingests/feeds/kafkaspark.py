"""Topics of Kafka through Spark's connector: batches of offsets, read as any other table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trunkline.errors import Precondition, Unavailable
from trunkline.ingests.feeds.base import Columns, Feed, Gathered, JsonLines, Piece, Site
from trunkline.ingests.feeds.kafka import META
from trunkline.tables.writing.casting import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.engine.kafka import KafkaTopics

_MODULES = "org.apache.kafka.common.security"
_PLAIN = f"{_MODULES}.plain.PlainLoginModule"
_SCRAM = f"{_MODULES}.scram.ScramLoginModule"
_JAVA_NAMES = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}

Offsets = Mapping[str, Mapping[str, int]]


class SparkKafkaFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._value = str(site.options.get("value", "json"))
        self._topics: KafkaTopics | None = None
        self._begins: dict[str, dict[str, int]] = {}
        self._ends: dict[str, dict[str, int]] = {}
        self._drained = False

    def gather(self, position: Offsets, *, drain: bool) -> Gathered | None:
        topics = self._opened()
        if not _is_behind(self._placed(position), self._ends):
            if drain and self._drained:
                return None
            self._look(topics, position)
            self._drained = True
        known = self._placed(position)
        if not _is_behind(known, self._ends):
            if known != position:
                return Gathered([], known)
            if not drain:
                self.site.stop.wait(self.site.source.interval)
            return None
        end = self._limited(known)
        rows = topics.read(_from(known, end), end)
        for topic, offsets in end.items():
            known[topic].update(offsets)
        if not rows.num_rows:
            return Gathered([], known)
        return Gathered([self._piece(rows)], known, origin=lambda: ", ".join(sorted(end)))

    def _look(self, topics: KafkaTopics, position: Offsets) -> None:
        """Where partitions end now; those that are new are read from their beginning."""
        latest = self.site.options.get("start") == "latest" and not position
        self._begins, self._ends = {}, {}
        for topic, ranges in topics.ranges().items():
            for one, (low, high) in ranges.items():
                at = int(position.get(topic, {}).get(one, low))
                if at > high:
                    raise Unavailable(
                        f'The topic "{topic}" was made anew: its partition {one} ends at {high}, '
                        f"and {at} were read before.",
                        hint="Declare the ingest by another name to read it from its beginning.",
                    )
                self._begins.setdefault(topic, {})[one] = high if latest else low
                self._ends.setdefault(topic, {})[one] = high

    def _placed(self, position: Offsets) -> dict[str, dict[str, int]]:
        """The position, with where partitions begin of which it knows nothing yet."""
        names = dict.fromkeys([*position, *self._begins])
        return {
            topic: {**self._begins.get(topic, {}), **position.get(topic, {})} for topic in names
        }

    def _opened(self) -> KafkaTopics:
        from trunkline.engine.kafka import KafkaTopics

        if self._topics is None:
            given = self.site.options
            if self.site.spark is None:
                raise Precondition(
                    "There is no Spark here to read Kafka with.", hint="Use connector: client."
                )
            secrets = {name: str(given[name]) for name, _ in self.site.source.secrets}
            options = {str(k): str(v) for k, v in dict(given.get("options") or {}).items()}
            names = [str(topic) for topic in given["topics"]]
            self._topics = KafkaTopics(
                self.site.spark(), str(given["servers"]), names, java_settings(options | secrets)
            )
        return self._topics

    def _limited(self, position: Offsets) -> dict[str, dict[str, int]]:
        """Of each partition that has more, its share of a batch."""
        behind = [
            (topic, one, int(position.get(topic, {}).get(one, 0)), end)
            for topic, offsets in self._ends.items()
            for one, end in offsets.items()
            if end > int(position.get(topic, {}).get(one, 0))
        ]
        share = max(1, self.site.source.rows // len(behind))
        found: dict[str, dict[str, int]] = {}
        for topic, one, start, end in behind:
            found.setdefault(topic, {})[one] = min(end, start + share)
        return found

    def _piece(self, rows: pa.Table) -> Piece:
        import pyarrow as pa

        keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
        schema = arrow_schema(META)
        if self._value == "binary":
            schema = schema.set(0, pa.field("_key", pa.binary()))
        else:
            keys = [None if key is None else key.decode(errors="backslashreplace") for key in keys]
        rest = [rows.column(name) for name in ("topic", "partition", "offset", "timestamp")]
        extra = pa.table([pa.array(keys, schema.field(0).type), *rest], names=schema.names).cast(
            schema
        )
        if self._value == "json":
            places = zip(*(extra.column(n).to_pylist() for n in schema.names[1:4]), strict=True)
            sources = [f"{topic}/{partition}@{offset}" for topic, partition, offset in places]
            return JsonLines([b"{}" if one is None else one for one in values], sources, extra)
        if self._value == "text":
            values = [
                None if one is None else one.decode(errors="backslashreplace") for one in values
            ]
        kind = pa.string() if self._value == "text" else pa.binary()
        return Columns(extra.add_column(0, "value", pa.array(values, kind)), "kafka")


def java_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Settings as Java's client names them: a login and PEM are written as for the other one."""
    made = {_JAVA_NAMES.get(name, name): value for name, value in given.items()}
    for store in {name.rpartition(".")[0] for name in given if name.endswith(".pem")}:
        kind = "truststore" if store == "ssl.ca" else "keystore"
        made.setdefault(f"ssl.{kind}.type", "PEM")
    user, password = made.pop("sasl.username", None), made.pop("sasl.password", None)
    if user is not None and password is not None:
        module = _SCRAM if made.get("sasl.mechanism", "").startswith("SCRAM") else _PLAIN
        login = f"username={_quoted(user)} password={_quoted(password)}"
        made["sasl.jaas.config"] = f"{module} required {login};"
    return made


def _quoted(text: str) -> str:
    if any(ord(one) < 32 for one in text):
        raise Precondition("A user or password of Kafka has a character that cannot be sent.")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_behind(position: Offsets, ends: Offsets) -> bool:
    return any(
        end > int(position.get(topic, {}).get(one, 0))
        for topic, offsets in ends.items()
        for one, end in offsets.items()
    )


def _from(position: Offsets, end: Offsets) -> dict[str, dict[str, int]]:
    return {
        topic: {one: int(position.get(topic, {}).get(one, 0)) for one in offsets}
        for topic, offsets in end.items()
    }
