"""Which settings of other people's clients may be named, in specs, addresses and answers.

A client's setting can be more than a value: a library it loads, a class it calls, a program it
runs, a file it reads and sends. So all that is not listed here is refused, whoever names it: a
setting that a new version of a client brings is refused until somebody has looked at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.model.suggest import did_you_mean

Match = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a setting cannot be given. It never tells the value."""

    name: str
    why: str
    hint: str

    @property
    def text(self) -> str:
        return f"{self.name} {self.why}"


@dataclass(frozen=True, slots=True)
class Client:
    """What may be set. `files` are paths of this machine, `here` names something else of it.

    `ours` are set by us, with what to write instead. `values` are what a value must look like.
    """

    what: str
    plain: frozenset[str]
    files: frozenset[str] = frozenset()
    here: frozenset[str] = frozenset()
    ours: Mapping[str, str] = field(default_factory=dict)
    by: str = "Trunkline"
    values: Mapping[str, Match] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    """What to do instead, by how a name begins."""
    key: Callable[[str], str] = str
    """A name as it is listed: some clients take several spellings for one."""
    begins: tuple[str, ...] = ()
    """Names that may have any end."""

    def refusal(self, name: str, value: Any = None) -> Refusal | None:
        """What is wrong with a setting; without a value, which is a secret yet, by its name."""
        key = self.key(name)
        if key in self.ours:
            instead = self.ours[key]
            hint = f"Write {instead} instead." if instead else "Leave it out."
            return Refusal(name, f"is set by {self.by} itself.", hint)
        if not self.knows(name):
            hint = next((one for start, one in self.hints.items() if key.startswith(start)), "")
            near = "" if hint else did_you_mean(key, self.plain)
            why = f"cannot be set: it is not among the settings of {self.what} that may be.{near}"
            return Refusal(name, why, hint or "Leave it out: docs/security.md tells which may be.")
        wanted = self.values.get(key)
        if value is not None and wanted is not None and not wanted(str(value)):
            hint = self.hints.get(key, "Look at docs/security.md.")
            return Refusal(name, "cannot have this value.", hint)
        return None

    def knows(self, name: str) -> bool:
        key = self.key(name)
        return key in self.plain | self.files | self.here or key.startswith(self.begins)

    def kept(self, answered: Mapping[str, Any]) -> dict[str, Any]:
        """Of what a server answers, the settings that may come from others: plain texts."""
        return {
            name: value
            for name, value in answered.items()
            if isinstance(value, str | int | float)
            and (self.key(name) in self.plain or name.startswith(self.begins))
            and self.refusal(name, value) is None
        }


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_web = re.compile(r"https?://\S+").fullmatch

# -- Kafka ----------------------------------------------------------------------------------

_KAFKA = _names(
    """
    acks allow.auto.create.topics api.version.fallback.ms api.version.request
    api.version.request.timeout.ms batch.num.messages batch.size broker.address.family
    broker.address.ttl broker.version.fallback check.crcs client.dns.lookup client.id client.rack
    compression.codec compression.level compression.type connections.max.idle.ms
    delivery.timeout.ms enable.ssl.certificate.verification fetch.error.backoff.ms fetch.max.bytes
    fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms
    heartbeat.interval.ms https.ca.pem linger.ms max.in.flight
    max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    message.copy.max.bytes message.max.bytes message.send.max.retries message.timeout.ms
    metadata.max.age.ms partitioner queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
    receive.message.max.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.required.acks
    request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.mechanism
    sasl.mechanisms sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
    sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.method
    sasl.oauthbearer.scope sasl.oauthbearer.token.endpoint.url sasl.password sasl.username
    security.protocol session.timeout.ms socket.connection.setup.timeout.ms
    socket.keepalive.enable socket.max.fails socket.nagle.disable socket.receive.buffer.bytes
    socket.send.buffer.bytes socket.timeout.ms ssl.ca.pem ssl.certificate.pem ssl.cipher.suites
    ssl.curves.list ssl.endpoint.identification.algorithm ssl.key.password ssl.key.pem
    ssl.keystore.password ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms
    topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse transaction.timeout.ms
    """
)
_KAFKA_FILES = _names(
    "https.ca.location ssl.ca.location ssl.certificate.location ssl.crl.location "
    "ssl.key.location ssl.keystore.location"
)
_MECHANISMS = "Use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."
# With Kerberos the client runs a command of the shell, which has names of the broker in it.
_mechanism = re.compile(r"PLAIN|SCRAM-SHA-(?:256|512)|OAUTHBEARER").fullmatch
_KAFKA_HINTS = {
    "sasl.kerberos.": _MECHANISMS,
    "sasl.mechanism": _MECHANISMS,
    "sasl.mechanisms": _MECHANISMS,
    "sasl.oauthbearer.assertion.": "Use sasl.oauthbearer.client.id and a secret for "
    "sasl.oauthbearer.client.secret.",
    "sasl.oauthbearer.token.endpoint.url": "Write it as https://host/path.",
    "sasl.jaas.config": "Write sasl.mechanism, sasl.username and secrets: {sasl.password: NAME}.",
    "ssl.truststore.": "Give the PEM itself: secrets: {ssl.ca.pem: NAME}.",
    "ssl.keystore.": "Give the PEM itself: ssl.certificate.pem, and a secret for ssl.key.pem.",
}
_KAFKA_VALUES: Mapping[str, Match] = {
    "sasl.mechanism": _mechanism,
    "sasl.mechanisms": _mechanism,
    "sasl.oauthbearer.token.endpoint.url": _web,
}
_SERVERS = {"bootstrap.servers": "servers", "metadata.broker.list": "servers"}
_READING = {
    **_SERVERS,
    "auto.offset.reset": "start",
    **dict.fromkeys(
        ("group.id", "enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof",
         "isolation.level"), ""
    ),
}  # fmt: skip
KAFKA_SOURCE = Client(
    "Kafka's client",
    _KAFKA,
    _KAFKA_FILES,
    ours=_READING,
    by="the ingest",
    values=_KAFKA_VALUES,
    hints=_KAFKA_HINTS,
)
KAFKA_TARGET = Client(
    "Kafka's client",
    _KAFKA,
    _KAFKA_FILES,
    ours={**_SERVERS, "transactional.id": "", "enable.idempotence": ""},
    by="the target",
    values=_KAFKA_VALUES,
    hints=_KAFKA_HINTS,
)
# One login by one of Kafka's own modules: others look classes up by names that they are given.
_jaas = re.compile(
    r"\s*org\.apache\.kafka\.common\.security\."
    r"(?:plain\.PlainLoginModule|scram\.ScramLoginModule)\s+(?:required|requisite)"
    r'(?:\s+(?:username|password|tokenauth)\s*=\s*"(?:[^"\\\n]|\\["\\])*")*\s*;\s*'
).fullmatch
KAFKA_SPARK = Client(
    "Kafka's client in Spark",
    _names(
        """
        check.crcs client.dns.lookup client.id client.rack connections.max.idle.ms
        default.api.timeout.ms fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
        heartbeat.interval.ms max.partition.fetch.bytes max.poll.interval.ms max.poll.records
        metadata.max.age.ms receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
        request.timeout.ms retry.backoff.max.ms retry.backoff.ms sasl.jaas.config sasl.mechanism
        sasl.mechanisms sasl.password sasl.username security.protocol send.buffer.bytes
        session.timeout.ms socket.connection.setup.timeout.max.ms
        socket.connection.setup.timeout.ms ssl.ca.pem ssl.certificate.pem ssl.cipher.suites
        ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.key.password ssl.key.pem
        ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.password ssl.keystore.type
        ssl.protocol ssl.truststore.certificates ssl.truststore.password ssl.truststore.type
        """
    ),
    _names("ssl.keystore.location ssl.truststore.location"),
    ours={**_READING, "allow.auto.create.topics": ""},
    by="the ingest",
    values={
        "sasl.jaas.config": _jaas,
        "sasl.mechanism": re.compile(r"PLAIN|SCRAM-SHA-(?:256|512)").fullmatch,
        "sasl.mechanisms": re.compile(r"PLAIN|SCRAM-SHA-(?:256|512)").fullmatch,
    },
    hints={
        **dict.fromkeys(
            ("sasl.mechanism", "sasl.mechanisms", "sasl.kerberos."),
            "Use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or connector: client for OAUTHBEARER.",
        ),
        "sasl.oauthbearer.": "Use connector: client.",
        "sasl.jaas.config": _KAFKA_HINTS["sasl.jaas.config"],
        **{
            f"ssl.{one}.location": f"Give the PEM itself: secrets: {{ssl.{one}.pem: NAME}}."
            for one in ("ca", "certificate", "key")
        },
    },
)

# -- object stores --------------------------------------------------------------------------

_CLIENT = _names(
    """
    allow_http allow_invalid_certificates connect_timeout http1_only http2_keep_alive_interval
    http2_keep_alive_timeout http2_keep_alive_while_idle http2_only max_retries pool_idle_timeout
    pool_max_idle_per_host proxy_ca_certificate proxy_excludes proxy_url randomize_addresses
    read_timeout retry_timeout timeout user_agent
    """
)
_BUCKETS = _names(
    """
    access_key access_key_id account_key account_name authority_host authority_id base_url
    bearer_token checksum_algorithm client_id client_secret conditional_put copy_if_not_exists
    default_region disable_bulk_delete disable_tagging encryption_key endpoint endpoint_url
    endpoint_url_s3 master_key region request_payer role_arn role_session_name s3_express sas_key
    sas_token secret_access_key server_side_encryption service_account_key session_token
    skip_signature sse_bucket_key_enabled sse_customer_key_base64 sse_kms_key_id sts_endpoint
    tenant_id token unsigned_payload use_emulator use_fabric_endpoint virtual_hosted_style_request
    iam_role_arn iam_role_session_name allow_unsafe_rename s3_allow_unsafe_rename
    """
)
_BUCKET_FILES = _names(
    "application_credentials container_authorization_token_file federated_token_file "
    "service_account service_account_path web_identity_token_file"
)
_BUCKET_HINTS = {
    **dict.fromkeys(
        ("metadata_endpoint", "msi_", "container_credentials_", "use_azure_cli", "object_id"),
        "Leave it out: the machine's own identity is found by itself, and keys are secrets.",
    ),
}


def _bucket_key(name: str) -> str:
    """AWS_REGION is region: libraries take both."""
    lower = name.lower()
    for start in ("aws_", "google_", "azure_storage_", "azure_"):
        if lower.startswith(start):
            return lower.removeprefix(start)
    return lower


BUCKET = Client(
    "the store",
    _CLIENT | _BUCKETS,
    _BUCKET_FILES,
    hints=_BUCKET_HINTS,
    key=_bucket_key,
)
DELTA = Client(
    "Delta's store",
    _CLIENT
    | _BUCKETS
    | _names(
        """
        s3_locking_provider delta_dynamo_table_name dynamo_lock_table_name
        delta_dynamo_billing_mode delta_dynamo_max_elapsed_request_time endpoint_url_dynamodb
        region_dynamodb access_key_id_dynamodb secret_access_key_dynamodb session_token_dynamodb
        force_credential_load object_store_concurrency_limit mount_allow_unsafe_rename
        max_elapsed_request_time_dynamodb
        """
    ),
    _BUCKET_FILES,
    here=_names("profile"),
    hints=_BUCKET_HINTS,
    key=_bucket_key,
)

# -- Iceberg --------------------------------------------------------------------------------

LOCATION_PROVIDER = "write.py-location-provider.impl"
"""A property of a table that names a class, which the library calls when it writes to it."""
_CODE = "Leave it out: which class is called is not for specs to say."
ICEBERG = Client(
    "a catalog of Iceberg",
    _names(
        """
        name type uri warehouse prefix credential token scope audience resource oauth2-server-uri
        snapshot-loading-mode scan-planning-mode view-endpoints-supported rest-page-size
        namespace-separator rest.sigv4-enabled rest.signing-region rest.signing-name
        rest.sigv4.max-retries init_catalog_tables pool_pre_ping schema_version table-name ugi
        downcast-ns-timestamp-to-us-on-write pyarrow.use-large-types-on-read
        client.region client.access-key-id client.secret-access-key client.session-token
        client.role-arn client.role-session-name
        s3.anonymous s3.endpoint s3.access-key-id s3.secret-access-key s3.session-token s3.region
        s3.resolve-region s3.proxy-uri s3.connect-timeout s3.request-timeout s3.role-arn
        s3.role-session-name s3.force-virtual-addressing s3.server-side-encryption
        s3.sse-kms-key-id
        adls.connection-string adls.account-name adls.account-key adls.sas-token adls.tenant-id
        adls.client-id adls.client-secret adls.account-host adls.blob-storage-authority
        adls.dfs-storage-authority adls.blob-storage-scheme adls.dfs-storage-scheme adls.token
        adls.anon
        gcs.oauth2.token gcs.oauth2.token-expires-at gcs.project-id gcs.access gcs.consistency
        gcs.cache-timeout gcs.requester-pays gcs.service.host gcs.default-bucket-location
        gcs.version-aware
        glue.id glue.skip-archive glue.endpoint glue.region glue.access-key-id
        glue.secret-access-key glue.session-token glue.max-retries glue.retry-mode
        dynamodb.region dynamodb.access-key-id dynamodb.secret-access-key dynamodb.session-token
        hive.hive2-compatible lock-check-min-wait-time lock-check-max-wait-time
        lock-check-retries
        """
    ),
    here=_names("client.profile-name s3.profile-name glue.profile-name dynamodb.profile-name"),
    values={"type": re.compile(r"(?i)rest|sql|glue|hive|dynamodb|in-memory").fullmatch},
    hints={
        "type": "Write rest, sql, glue, hive, dynamodb or in-memory.",
        **dict.fromkeys(("py-", "auth", "s3.retry-strategy-impl", "s3.signer", "write.py-"), _CODE),
        "adls.credential": "Use adls.client-id, adls.tenant-id and a secret for "
        "adls.client-secret.",
        "hdfs.": "Tables are read from s3://, gs:// or abfss://.",
    },
    begins=("header.", "adls.sas-token."),
)

# -- databases ------------------------------------------------------------------------------

_SQLITE = "Write the path alone: sqlite:////data/shop.db."
_entra = re.compile(r"SqlPassword|ActiveDirectory(?:Password|ServicePrincipal)").fullmatch
_odbc = re.compile(r"ODBC Driver [0-9]+ for SQL Server|FreeTDS").fullmatch
_POSTGRESQL = Client(
    "a URL of PostgreSQL",
    _names(
        """
        application_name channel_binding client_encoding connect_timeout fallback_application_name
        host port keepalives keepalives_count keepalives_idle keepalives_interval
        load_balance_hosts options require_auth ssl_max_protocol_version ssl_min_protocol_version
        sslmode sslnegotiation sslsni target_session_attrs tcp_user_timeout
        """
    ),
    _names("passfile sslcert sslcrl sslcrldir sslkey sslrootcert"),
    here=_names("service"),
    hints={"hostaddr": "Write the address as the host.", "plugin": _CODE},
)
_MYSQL = Client(
    "a URL of MySQL",
    _names(
        """
        charset collation compress connect_timeout program_name read_timeout sql_mode ssl
        ssl_check_hostname ssl_cipher ssl_disabled ssl_mode ssl_verify_cert ssl_verify_identity
        tls_version use_unicode write_timeout
        """
    ),
    _names("ssl_ca ssl_capath ssl_cert ssl_crl ssl_key unix_socket"),
    hints={
        "local_infile": "Leave it out: a server is never sent files.",
        "allow_local_infile": "Leave it out: a server is never sent files.",
        "read_default_": "Write the settings themselves.",
        "plugin": _CODE,
    },
)
DATABASES: Mapping[str, Client] = {
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "sqlite": Client(
        "a URL of SQLite",
        _names("cached_statements detect_types isolation_level timeout"),
        hints=dict.fromkeys(("uri", "vfs", "mode", "cache", "nolock", "immutable"), _SQLITE),
    ),
    "mssql": Client(
        "a URL of SQL Server",
        _names(
            """
            ApplicationIntent Authentication Encrypt LoginTimeout MARS_Connection
            MultiSubnetFailover TrustServerCertificate Trusted_Connection appname authentication
            autocommit charset driver login_timeout tds_version timeout
            """
        ),
        values={"driver": _odbc, "Authentication": _entra, "authentication": _entra},
        hints={
            "driver": "Write ODBC Driver 18 for SQL Server, or FreeTDS.",
            "Authentication": "Name a user and a password: the machine's own identity stays here.",
            "authentication": "Name a user and a password: the machine's own identity stays here.",
            "odbc_connect": "Write the host, the database and the driver in the URL.",
        },
    ),
    "oracle": Client(
        "a URL of Oracle", _names("encoding events mode nencoding service_name sid threaded")
    ),
    "redshift": _POSTGRESQL,
    "cockroachdb": _POSTGRESQL,
    "snowflake": Client("a URL of Snowflake", _names("role schema warehouse timezone")),
    "bigquery": Client("a URL of BigQuery", _names("location dataset_id")),
    "databricks": Client("a URL of Databricks", _names("catalog http_path schema")),
    "trino": Client("a URL of Trino", _names("source")),
    "clickhouse": Client("a URL of ClickHouse", _names("protocol secure compression verify")),
    "duckdb": Client("a URL of DuckDB", frozenset()),
}
_ELSEWHERE = frozenset(DATABASES) - {"sqlite", "duckdb"}
_UNKNOWN = Client("a database that Trunkline does not know", frozenset())
# A driver's own notation (a DSN, a list of properties) can say more than where a host is.
_host = re.compile(r"[A-Za-z0-9_.:%\\\[\]-]*|[/@][^,;?&={}()]*").fullmatch
_database = re.compile(
    r"(?P<name>[\w\+]+)://"
    r"(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?"
    r"(?:(?:\[(?P<ipv6>[^/\?]+)\]|(?P<host>[^/:\?]+))?(?::(?P<port>[^/\?]*))?)?"
    r"(?:/(?P<database>[^\?]*))?"
    r"(?:\?(?P<query>.*))?"
).match


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The parts of a URL, just as SQLAlchemy takes it apart."""

    scheme: str
    host: str
    database: str
    query: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl | None:
        from urllib.parse import parse_qsl, unquote  # slow to load, and few ask

        found = _database(text)
        if found is None:
            return None
        host = found["ipv6"] or found["host"] or ""
        query = parse_qsl(found["query"] or "", keep_blank_values=True)
        return cls(found["name"], host, unquote(found["database"] or ""), tuple(query))

    @property
    def kind(self) -> str:
        return self.scheme.partition("+")[0]

    @property
    def client(self) -> Client:
        return DATABASES.get(self.kind, _UNKNOWN)

    @property
    def hosts(self) -> list[str]:
        """Of several, each; "" where none is named."""
        given = [value for name, value in self.query if name == "host"] or [self.host]
        return [one for text in given for one in text.split(",")]

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is a server with a host: what has none may be anything of this machine."""
        if self.kind not in _ELSEWHERE:
            return False
        if not self.database and (self.scheme == "mssql" or self.scheme.endswith("odbc")):
            return False  # what stands for the host is a name of ODBC's configuration
        return all(one and not one.startswith(("/", "@")) for one in self.hosts)

    @property
    def refusal(self) -> Refusal | None:
        for name, value in self.query:
            if (found := self.client.refusal(name, value)) is not None:
                return found
        if self.kind in _ELSEWHERE and not all(map(_host, self.hosts)):
            return Refusal("The host", "is none.", "Write its name alone.")
        if self.kind == "sqlite" and self.database.startswith("file:"):
            return Refusal("The database", "cannot be a URI of SQLite.", _SQLITE)
        names = (self.database, *(value for _, value in self.query))
        if self.kind == "oracle" and re.search(r"[()=]", " ".join(names)):
            return Refusal("The database", "is no name.", "Write host, port and service_name.")
        return None
