"""Settings of other people's clients: those that are known may be given, all others not."""

from __future__ import annotations

import pytest

from trunkline.model.clients import (
    BUCKET,
    DATABASES,
    DELTA,
    ICEBERG,
    KAFKA_SOURCE,
    KAFKA_SPARK,
    KAFKA_TARGET,
    Client,
    DatabaseUrl,
)

KAFKA = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.mechanisms": "PLAIN",
    "sasl.username": "lake",
    "sasl.password": "x",
    "ssl.ca.pem": "-----BEGIN",
    "ssl.certificate.pem": "-----BEGIN",
    "ssl.key.pem": "-----BEGIN",
    "ssl.key.password": "x",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.token.endpoint.url": "https://host/token",
    "compression.type": "zstd",
    "linger.ms": "5",
    "batch.size": "1000",
    "acks": "all",
    "client.id": "lake",
    "session.timeout.ms": "6000",
    "socket.timeout.ms": "500",
    "fetch.min.bytes": "5",
    "transaction.timeout.ms": "1000",
    "ssl.ca.location": "/etc/ca.pem",
}
CODE = {
    "plugin.library.paths": "/lake/evil.so",
    "ssl.engine.location": "/lake/evil.so",
    "ssl.providers": "evil",
    "sasl.kerberos.kinit.cmd": "touch /tmp/ran",
    "sasl.kerberos.principal": "a; touch /tmp/ran",
    "sasl.kerberos.keytab": "a; touch /tmp/ran",
    "sasl.mechanism": "GSSAPI",
    "sasl.oauthbearer.assertion.file": "/etc/passwd",
    "sasl.oauthbearer.assertion.private.key.file": "/etc/passwd",
    "sasl.oauthbearer.assertion.jwt.template.file": "/etc/passwd",
    "sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd",
    "offset.store.path": "/tmp",
    "PLUGIN.LIBRARY.PATHS": "x",
    " plugin.library.paths": "x",
    "a.setting.of.tomorrow": "x",
}


@pytest.mark.parametrize("client", [KAFKA_SOURCE, KAFKA_TARGET])
def test_kafka(client: Client) -> None:
    for name, value in KAFKA.items():
        assert client.refusal(name, value) is None, name
    for name, value in CODE.items():
        found = client.refusal(name, value)
        assert found is not None and found.name == name, name
        assert found.hint
        assert value not in found.text, name
    found = client.refusal("bootstrap.servers", "x")
    assert found is not None and found.hint == "Write servers instead."


def test_a_typo_is_told() -> None:
    found = KAFKA_TARGET.refusal("linger.s", "5")
    assert found is not None and found.text.endswith('Did you mean "linger.ms"?')


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'


@pytest.mark.parametrize(
    ("name", "value", "good"),
    [
        ("sasl.jaas.config", JAAS, True),
        ("sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule required;", False),
        ("sasl.jaas.config", f"{JAAS} com.sun.security.auth.module.JndiLoginModule required;",
         False),
        ("sasl.jaas.config", JAAS.replace("username", "serverinfo"), False),
        ("sasl.username", "a", True),
        ("ssl.truststore.certificates", "-----BEGIN", True),
        ("interceptor.classes", "a.B", False),
        ("metric.reporters", "a.B", False),
        ("config.providers", "file", False),
        ("sasl.login.callback.handler.class", "a.B", False),
        ("sasl.client.callback.handler.class", "a.B", False),
        ("ssl.engine.factory.class", "a.B", False),
        ("security.providers", "a.B", False),
        ("sasl.kerberos.kinit.cmd", "/bin/sh", False),
        ("key.deserializer", "a.B", False),
        ("plugin.library.paths", "x", False),
    ],
)  # fmt: skip
def test_kafka_by_spark(name: str, value: str, good: bool) -> None:
    assert (KAFKA_SPARK.refusal(name, value) is None) is good


@pytest.mark.parametrize(
    ("client", "name", "good"),
    [
        (BUCKET, "region", True),
        (BUCKET, "AWS_ENDPOINT", True),
        (BUCKET, "max_retries", True),
        (BUCKET, "account_key", True),
        (BUCKET, "service_account_key", True),
        (BUCKET, "web_identity_token_file", True),  # a file: the rule of the machine tells
        (BUCKET, "metadata_endpoint", False),
        (BUCKET, "container_credentials_full_uri", False),
        (BUCKET, "use_azure_cli", False),
        (BUCKET, "bucket", False),
        (DELTA, "AWS_ACCESS_KEY_ID", True),
        (DELTA, "AWS_S3_LOCKING_PROVIDER", True),
        (DELTA, "DELTA_DYNAMO_TABLE_NAME", True),
        (DELTA, "AZURE_STORAGE_ACCOUNT_NAME", True),
        (DELTA, "GOOGLE_SERVICE_ACCOUNT", True),
        (DELTA, "AWS_PROFILE", True),
        (DELTA, "AWS_METADATA_ENDPOINT", False),
        (ICEBERG, "s3.endpoint", True),
        (ICEBERG, "credential", True),
        (ICEBERG, "header.X-Tenant", True),
        (ICEBERG, "rest.sigv4-enabled", True),
        (ICEBERG, "py-io-impl", False),
        (ICEBERG, "py-catalog-impl", False),
        (ICEBERG, "auth", False),
        (ICEBERG, "auth.impl", False),
        (ICEBERG, "s3.retry-strategy-impl", False),
        (ICEBERG, "write.py-location-provider.impl", False),
        (ICEBERG, "ssl", False),
        (ICEBERG, "hdfs.host", False),
        (ICEBERG, "DEFAULT_SCHEME", False),
        (ICEBERG, "/bin/sh", False),
    ],
)
def test_stores_and_catalogs(client: Client, name: str, good: bool) -> None:
    assert (client.refusal(name) is None) is good


def test_what_a_catalog_answers() -> None:
    answer = {
        "s3.endpoint": "https://s3",
        "token": "t",
        "py-io-impl": "subprocess.Popen",
        "auth": {"type": "custom", "impl": "subprocess.Popen"},
        "client.profile-name": "prod",
        "type": "subprocess",
        "uri": {"a": 1},
    }
    assert ICEBERG.kept(answer) == {"s3.endpoint": "https://s3", "token": "t"}


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("postgresql://a@h/db?sslmode=verify-full&application_name=x", ""),
        ("postgresql://a@h/db?sslrootcert=/etc/ca.pem", ""),
        ("postgresql://a@h/db?host=/run/postgresql", ""),
        ("postgresql://a@/db?host=h1,h2&port=1,2", ""),
        ("postgresql://a@h/db?hostaddr=10.0.0.1", "hostaddr"),
        ("postgresql://a@h/db?plugin=evil", "plugin"),
        ("postgresql://a@h/db#x?plugin=evil", "plugin"),
        ("postgresql://a@h/db?sslmode=require&servicefile=/x", "servicefile"),
        ("mysql+pymysql://a@h/db?charset=utf8mb4&ssl_ca=/etc/ca.pem", ""),
        ("mysql+pymysql://a@h/db?local_infile=1", "local_infile"),
        ("mysql+pymysql://a@h/db?read_default_file=/x", "read_default_file"),
        ("mysql+mysqldb://a@h/db?plugin_dir=/x", "plugin_dir"),
        ("mariadb://(host=h,allowLocalInfile=true)/db", "The host"),
        ("sqlite:////data/a.db?timeout=5", ""),
        ("sqlite:///file:/data/a.db?uri=true", "uri"),
        ("sqlite:////data/a.db?vfs=unix-none", "vfs"),
        ("sqlite:///file:/data/a.db", "The database"),
        ("mssql+pyodbc://a@h/db?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes", ""),
        ("mssql+pyodbc://a@h/db?driver=/lake/evil.so", "driver"),
        ("mssql+pyodbc:///?odbc_connect=DRIVER%3D/lake/evil.so", "odbc_connect"),
        ("oracle+oracledb://a@h/?service_name=x", ""),
        ("mssql+pyodbc://a@h/db?Authentication=ActiveDirectoryMsi", "Authentication"),
        ("oracle+oracledb://a@h/?wallet_location=/x", "wallet_location"),
        ("oracle+oracledb://a@h/x))(SECURITY=(MY_WALLET_DIRECTORY=%2Fx", "The database"),
        ("bigquery://p/d?credentials_path=/etc/x", "credentials_path"),
        ("snowflake://a@h/db?warehouse=w", ""),
        ("duckdb:////a.db?custom=1", "custom"),
        ("other://a@h/db?x=1", "x"),
    ],
)
def test_urls_of_databases(url: str, refused: str) -> None:
    parsed = DatabaseUrl.parse(url)
    assert parsed is not None
    found = parsed.refusal
    assert (found.name if found else "") == refused
    assert found is None or found.hint


def test_urls_are_taken_apart_as_sqlalchemy_does() -> None:
    from sqlalchemy.engine import make_url

    for text in (
        "postgresql+psycopg://a:b%40c@h:1/d%3Fx?y=1&y=2&z",
        "sqlite:////tmp/a.db#b?plugin=x",
        "mysql://[::1]:3306/a/b?c=%2F",
        "sqlite://",
        "a+b://h#c/d",
        "x://u@v@w/d",
    ):
        told, url = DatabaseUrl.parse(text), make_url(text)
        assert told is not None
        assert (told.scheme, told.host) == (url.drivername, url.host or "")
        assert told.database == (url.database or "")
        assert {name for name, value in told.query if value} == {*url.query} - {"z"}


def test_no_client_may_be_given_a_library_or_a_program() -> None:
    for client in (KAFKA_SOURCE, KAFKA_TARGET, KAFKA_SPARK, BUCKET, DELTA, ICEBERG,
                   *DATABASES.values()):  # fmt: skip
        for name in client.plain:
            for part in ("plugin", "impl", "class", "cmd", "command", "library", "infile"):
                assert part not in name.lower(), name
            for end in (".location", ".file", ".path", "_file", "_path"):
                assert not name.endswith(end) or name == "http_path", name
