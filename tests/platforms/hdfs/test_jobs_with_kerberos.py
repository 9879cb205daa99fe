"""Jobs on an HDFS that requires Kerberos: with a keytab, with a ticket, and without credentials."""

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdfs_native import Client
from kdc import Credentials, KerberosMissingError, Realm, running_kdc
from name_node import Hdfs, running_hdfs

from e2e.job_processes import SCRIPT, SOURCES, Ended, environment, run, spark_settings
from hudi_table_services.contract.cleaning import CleanReport
from hudi_table_services.errors import StorageError, StoragePermissionError
from hudi_table_services.storage.stores.factory import open_storage
from support.spark.table_elsewhere import Row, rows_of_copy

PROTECTION = "dfs.data.transfer.protection"
SIMPLE = {"hadoop.security.authentication": "simple", "dfs.client.failover.max.attempts": "1"}


class SecuredHdfs:
    """An HDFS that requires Kerberos, and a user of it.

    Args:
        protection: ``authentication`` for connections in plain text, ``privacy`` for encrypted ones.
    """

    def __init__(self, realm: Realm, hdfs: Hdfs, server: Credentials, protection: str) -> None:
        self.realm, self.hdfs, self.protection, self._server = realm, hdfs, protection, server
        self.user = realm.principal("etl")

    def new_table(self) -> str:
        """Return the URI of a new folder that belongs to the user."""
        uri = self.hdfs.uri(path := f"/lake/{uuid4().hex}")
        administrator = Client(
            uri,
            {"hadoop.security.authentication": "kerberos", PROTECTION: self.protection},
            **self._server.options,
        )
        administrator.mkdirs(path, create_parent=True)
        administrator.set_owner(path, "etl")
        return uri

    def options(self, credentials: Credentials) -> dict[str, str]:
        """Storage options with which a job logs in with a keytab."""
        return {**credentials.options, PROTECTION: self.protection}


class Job:
    """Jobs of a user, each in a process of its own, without the settings of the tests.

    Args:
        variables: environment variables with the credentials, if they are not in the options.
        options: storage options.
    """

    def __init__(
        self, uri: str, folder: Path, variables: Mapping[str, str], options: Mapping[str, str]
    ) -> None:
        self._uri, self._folder = uri, folder
        self._variables = environment(spark_settings(folder / "conf", spark__master="local[2]"), **variables)
        self._options = [f"--storage-option={key}={value}" for key, value in options.items()]

    def upsert(self, rows: Sequence[Row]) -> Ended:
        source = self._folder / f"{uuid4().hex}.parquet"
        columns = map(list, zip(*rows, strict=True))
        pq.write_table(pa.table(dict(zip(("k", "ts", "p"), columns, strict=True))), source)
        flags = ["--table-name=t", "--record-key=k", "--partition-by=p", "--ordering-field=ts"]
        return self._run(SCRIPT, *flags, f"--source-path={source.as_uri()}")

    def clean(self) -> Ended:
        floor = "--option=hoodie.airflow.clean.floor.hours=0"
        return self._run(SOURCES / "clean.py", "--commits-retained=1", floor)

    def _run(self, script: Path, *flags: str) -> Ended:
        command = [sys.executable, script, f"--base-path={self._uri}", *flags, *self._options]
        return run(command, self._variables, self._folder / uuid4().hex)


def rows_of(keys: range, version: int) -> list[Row]:
    return [(f"k{key:04}", version, f"p{key % 3}") for key in keys]


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    try:
        with running_kdc(tmp_path_factory.mktemp("kdc")) as running:
            yield running
    except KerberosMissingError:
        pytest.skip("The KDC of MIT Kerberos is missing, and installing it needs root and Debian's packages.")


@pytest.fixture(scope="module")
def secured(
    realm: Realm, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[SecuredHdfs]:
    protection = str(request.param)
    server = realm.principal("hdfs/localhost")
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": protection,
        PROTECTION: protection,
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",  # without it, the DataNode needs TLS
        "dfs.namenode.kerberos.principal": server.principal,
        "dfs.namenode.keytab.file": str(server.keytab),
        "dfs.datanode.kerberos.principal": server.principal,
        "dfs.datanode.keytab.file": str(server.keytab),
        "dfs.web.authentication.kerberos.principal": server.principal,
        "dfs.web.authentication.kerberos.keytab": str(server.keytab),
    }
    folder = tmp_path_factory.mktemp("secured")
    java_flags = [f"-Djava.security.krb5.conf={realm.configuration}"]
    with running_hdfs(folder, os.environ["JAVA_HOME"], settings, java_flags) as running:
        yield SecuredHdfs(realm, running, server, protection)


@pytest.fixture(autouse=True)
def in_the_realm(realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put this process and the jobs into the realm, without a ticket."""
    monkeypatch.setenv("KRB5_CONFIG", str(realm.configuration))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/no-ticket")


with_privacy = pytest.mark.parametrize("secured", ["privacy"], indirect=True)


def upsert_and_clean(job: Job) -> list[Row]:
    """Run jobs that write, read and delete files. Return the rows that the table must contain.

    With one retained commit, a clean keeps the files of the last two commits, so the job writes three times.
    """
    for keys, version in ((range(100), 1), (range(50), 2), (range(50), 3)):
        ended = job.upsert(rows_of(keys, version))
        assert ended.exit_code == 0, ended.log
        assert "were not removed" not in ended.log
    ended = job.clean()
    assert ended.exit_code == 0, ended.log
    report = ended.result.report
    assert isinstance(report, CleanReport)
    assert report.file_count > 0
    return sorted(rows_of(range(50), 3) + rows_of(range(50, 100), 1))


@pytest.mark.parametrize("secured", ["authentication", "privacy"], indirect=True)
def test_jobs_run_with_a_keytab(secured: SecuredHdfs, tmp_path: Path) -> None:
    uri, options = secured.new_table(), secured.options(secured.user)
    rows = upsert_and_clean(Job(uri, tmp_path, {}, options))
    assert sorted(rows_of_copy(open_storage(uri, options), tmp_path / "copy")) == rows


@with_privacy
def test_jobs_run_with_a_ticket_and_the_settings_of_the_cluster(secured: SecuredHdfs, tmp_path: Path) -> None:
    ticket = secured.realm.ticket(secured.user, tmp_path / "ticket")
    variables = {
        "KRB5CCNAME": ticket,
        "HADOOP_CONF_DIR": str(secured.hdfs.conf_dir),
        # Java ignores KRB5_CONFIG.
        "JDK_JAVA_OPTIONS": f"-Djava.security.krb5.conf={secured.realm.configuration}",
    }
    uri = secured.new_table()
    rows = upsert_and_clean(Job(uri, tmp_path, variables, {}))
    cache = {
        "kerberos_principal": secured.user.principal,
        "kerberos_cache": ticket,
        PROTECTION: secured.protection,
    }
    assert sorted(rows_of_copy(open_storage(uri, cache), tmp_path / "copy")) == rows


@with_privacy
def test_a_job_without_credentials_is_refused_with_the_names_of_the_settings(
    secured: SecuredHdfs, tmp_path: Path
) -> None:
    uri = secured.new_table()
    ended = Job(uri, tmp_path, {"HADOOP_CONF_DIR": str(secured.hdfs.conf_dir)}, {}).upsert(
        rows_of(range(5), 1)
    )
    assert ended.exit_code == StoragePermissionError.exit_code, ended.log
    last = ended.log.strip().splitlines()[-1]
    assert "the login with Kerberos failed: No credentials were supplied" in last
    assert "kerberos_principal and kerberos_keytab" in last
    assert "KRB5CCNAME" in last
    assert list(open_storage(uri, secured.options(secured.user)).list_files()) == []


@with_privacy
def test_a_client_without_kerberos_gets_an_error_that_names_the_settings(secured: SecuredHdfs) -> None:
    with pytest.raises(StorageError, match=r"Cannot read 'a': .*kerberos_principal and kerberos_keytab"):
        open_storage(secured.new_table(), SIMPLE).read("a")


@with_privacy
def test_only_the_owner_with_his_own_keytab_has_access(secured: SecuredHdfs) -> None:
    storage = open_storage(secured.new_table(), secured.options(secured.user))
    storage.create("a", b"one")
    stranger = open_storage(storage.uri, secured.options(secured.realm.principal("stranger")))
    with pytest.raises(StoragePermissionError, match=r"user=stranger, access=WRITE"):
        stranger.create("b", b"two")
    pretender = Credentials(secured.user.principal, secured.realm.principal("pretender").keytab)
    with pytest.raises(StoragePermissionError, match=r"the login with Kerberos failed: .*kerberos_keytab"):
        open_storage(storage.uri, secured.options(pretender)).read("a")
    assert [each.path for each in storage.list_files()] == ["a"]


@with_privacy
def test_an_expired_ticket_is_refused(secured: SecuredHdfs, tmp_path: Path) -> None:
    cache = {"kerberos_principal": secured.user.principal, "kerberos_cache": f"FILE:{tmp_path}/ticket"}
    secured.realm.ticket(secured.user, tmp_path / "ticket", "-l", "1s")
    time.sleep(2)
    with pytest.raises(StoragePermissionError, match=r"the login with Kerberos failed: .*Ticket expired"):
        open_storage(secured.new_table(), cache).read("a")


@with_privacy
def test_an_outage_of_the_kdc_is_an_error_that_airflow_retries(
    secured: SecuredHdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, options = secured.new_table(), secured.options(secured.realm.principal("late"))
    elsewhere = tmp_path / "krb5.conf"
    elsewhere.write_text(re.sub(r"kdc = .*", "kdc = 127.0.0.1:1", secured.realm.configuration.read_text()))
    monkeypatch.setenv("KRB5_CONFIG", str(elsewhere))
    with pytest.raises(StorageError, match="Cannot contact any KDC") as caught:
        open_storage(uri, options).read("a")
    assert caught.value.retryable
