"""Jobs on an HDFS that requires Kerberos: with a keytab, with a ticket, and without credentials."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from kdc import Realm, run

from e2e.job_processes import SCRIPT, SOURCES, Ended, environment, spark_settings
from e2e.job_processes import run as run_job
from e2e.orders import COLUMNS, Order, orders, table_flags, write_parquet
from judges.hudi_rs import read_snapshot
from platforms.hdfs.name_node import Hdfs

COPY = """
import sys
from pathlib import Path
from hudi_table_services.storage.stores.factory import open_storage
storage, target = open_storage(sys.argv[1]), Path(sys.argv[2])
for each in storage.list_files():
    (target / each.path).parent.mkdir(parents=True, exist_ok=True)
    (target / each.path).write_bytes(storage.read(each.path))
"""


class SecuredTable:
    """A table on the secured HDFS, and jobs of its owner."""

    def __init__(self, realm: Realm, hdfs: Hdfs, folder: Path) -> None:
        self._realm, self._folder = realm, folder
        self.uri = hdfs.uri(f"/lake/{folder.name}")
        self.principal, self.keytab = realm.keytab(f"etl-{folder.name.replace('_', '-')}")

    def variables(self, **more: str) -> dict[str, str]:
        """Environment with the realm, and without a ticket unless `more` names one."""
        settings = spark_settings(self._folder / "conf", spark__master="local[2]")
        nowhere = f"FILE:{self._folder}/no-ticket"
        return environment(
            settings, **{"KRB5_CONFIG": str(self._realm.configuration), "KRB5CCNAME": nowhere, **more}
        )

    def ticket(self) -> dict[str, str]:
        """Get a ticket with kinit. Return the variable that names it."""
        cache = f"FILE:{self._folder}/ticket"
        run(["kinit", "-k", "-t", str(self.keytab), "-c", cache, self.principal], self._realm.variables)
        return {"KRB5CCNAME": cache}

    def load(self, rows: Sequence[Order], variables: Mapping[str, str], *flags: str) -> Ended:
        source = write_parquet(list(rows), self._folder / "rows.parquet")
        command = [sys.executable, SCRIPT, *table_flags(Path("x"), source_path=str(source))[1:]]
        return run_job([*command, f"--base-path={self.uri}", *flags], variables, self._folder / "job")

    def files(self, variables: Mapping[str, str]) -> list[Path]:
        """Copy the table with a ticket, and return the files of the copy."""
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        given = {**variables, "PYTHONPATH": str(SOURCES)}
        ended = run_job([sys.executable, "-c", COPY, self.uri, copy], given, self._folder / "copying")
        assert ended.exit_code == 0, ended.log
        return [path for path in copy.rglob("*") if path.is_file()]

    def rows(self, variables: Mapping[str, str]) -> list[Order]:
        """Copy the table with a ticket, and read the copy with hudi-rs."""
        self.files(variables)
        rows = read_snapshot(self._folder / "copy")
        return sorted(zip(*(rows[name].to_pylist() for name in COLUMNS), strict=True))


@pytest.fixture
def table(realm: Realm, secured_hdfs: Hdfs, tmp_path: Path) -> SecuredTable:
    made = SecuredTable(realm, secured_hdfs, tmp_path)
    owner = made.principal.partition("@")[0]
    principal, keytab = realm.keytab("hdfs/localhost")
    cache = {"KRB5CCNAME": f"FILE:{tmp_path}/admin"}
    run(["kinit", "-k", "-t", str(keytab), "-c", cache["KRB5CCNAME"], principal], realm.variables)
    program = (
        "import sys; from hdfs_native import Client\n"
        "client = Client(sys.argv[1]); client.mkdirs(sys.argv[2], create_parent=True)\n"
        "client.set_owner(sys.argv[2], sys.argv[3])\n"
    )
    address, path = made.uri.split("/lake/")
    run([sys.executable, "-c", program, address, f"/lake/{path}", owner], {**realm.variables, **cache})
    return made


def test_jobs_run_with_a_keytab_and_with_a_ticket(table: SecuredTable) -> None:
    keytab = [f"kerberos_principal={table.principal}", f"kerberos_keytab={table.keytab}"]
    flags = [word for setting in keytab for word in ("--storage-option", setting)]
    first = table.load(orders(range(1000)), table.variables(), *flags)
    assert first.exit_code == 0, first.log
    with_ticket = table.variables(**table.ticket())
    second = table.load(orders(range(500, 1500), version=2), with_ticket)
    assert second.exit_code == 0, second.log
    expected = orders(range(500)) + orders(range(500, 1500), version=2)
    assert table.rows(with_ticket) == sorted(expected)


def test_a_job_without_credentials_fails_before_it_writes(table: SecuredTable) -> None:
    ended = table.load(orders(range(10)), table.variables())
    assert ended.exit_code != 0
    assert re.search(r"Storage\w*Error: Cannot ", ended.log), ended.log
    assert table.files(table.variables(**table.ticket())) == []
