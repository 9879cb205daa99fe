"""A Kerberos realm for tests: a KDC of MIT Kerberos on a free port, with its files in a folder."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platforms.hdfs.name_node import REPOSITORY, free_port

REALM = "LAKE.TEST"
_STARTS_WITHIN_S = 30.0


@dataclass(frozen=True)
class Realm:
    """A running KDC.

    Attributes:
        variables: environment variables with which Kerberos finds the KDC.
    """

    folder: Path
    variables: Mapping[str, str]

    @property
    def configuration(self) -> Path:
        return self.folder / "krb5.conf"

    def keytab(self, name: str) -> tuple[str, Path]:
        """Create a principal; return its full name and its keytab."""
        principal = f"{name}@{REALM}"
        path = self.folder / f"{name.replace('/', '-')}.keytab"
        for query in (f"addprinc -randkey {principal}", f"ktadd -k {path} {principal}"):
            run(["kadmin.local", "-r", REALM, "-q", query], self.variables)
        assert path.exists(), f"kadmin.local created no keytab for {principal}"
        return principal, path


@contextmanager
def running_kdc(folder: Path) -> Iterator[Realm]:
    """Create a realm and start its KDC; end the KDC at the end."""
    subprocess.run([REPOSITORY / "scripts" / "ensure_kerberos.sh"], check=True, timeout=600)
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    realm = Realm(
        folder,
        {
            **os.environ,
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
            "KRB5_CONFIG": str(folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        },
    )
    realm.configuration.write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
        f" rdns = false\n udp_preference_limit = 1\n"
        f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
        f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
        f"  acl_file = {folder}/kadm5.acl\n  max_life = 1h\n }}\n"
    )
    run(["kdb5_util", "-r", REALM, "create", "-s", "-P", "master"], realm.variables)
    with (folder / "kdc.log").open("wb") as log:
        process = subprocess.Popen(
            ["krb5kdc", "-n", "-r", REALM], env=dict(realm.variables), stdout=log, stderr=log
        )
    try:
        _wait_until_it_listens(port, process, folder / "kdc.log")
        yield realm
    finally:
        process.terminate()
        process.wait(30)


def run(command: list[str], variables: Mapping[str, str]) -> None:
    ended = subprocess.run(
        command, env=dict(variables), capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, f"{command[0]}: {ended.stdout}{ended.stderr}"


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
