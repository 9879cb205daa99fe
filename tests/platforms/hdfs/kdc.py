"""A Kerberos realm for tests: the KDC of MIT Kerberos, with its database and keytabs in a folder."""

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
_STARTS_WITHIN_S = 60.0


class KerberosMissingError(Exception):
    """The programs of MIT Kerberos are missing, and cannot be installed."""


@dataclass(frozen=True)
class Credentials:
    """A principal and the keytab with its key."""

    principal: str
    keytab: Path

    @property
    def options(self) -> dict[str, str]:
        """Storage options with which a job logs in."""
        return {"kerberos_principal": self.principal, "kerberos_keytab": str(self.keytab)}


@dataclass(frozen=True)
class Realm:
    """A running KDC with its files in a folder.

    Attributes:
        variables: environment variables of the programs of Kerberos.
    """

    folder: Path
    variables: Mapping[str, str]

    @property
    def configuration(self) -> Path:
        """The file krb5.conf of the realm's users."""
        return self.folder / "krb5.conf"

    def principal(self, name: str) -> Credentials:
        """Create a principal and its keytab, unless they exist."""
        made = Credentials(f"{name}@{REALM}", self.folder / f"{name.replace('/', '-')}.keytab")
        if not made.keytab.exists():
            for query in (f"addprinc -randkey {made.principal}", f"ktadd -k {made.keytab} {made.principal}"):
                self.run("kadmin.local", "-r", REALM, "-q", query)
            assert made.keytab.exists(), f"kadmin.local made no keytab for {made.principal}"
        return made

    def ticket(self, credentials: Credentials, cache: Path, *flags: str) -> str:
        """Get a ticket with kinit, and return the name of its cache."""
        self.run(
            "kinit", *flags, "-k", "-t", str(credentials.keytab), "-c", f"FILE:{cache}", credentials.principal
        )
        return f"FILE:{cache}"

    def run(self, *command: str) -> None:
        ended = subprocess.run(
            command, env=dict(self.variables), capture_output=True, text=True, check=False, timeout=120
        )
        assert ended.returncode == 0, f"{command[0]}: {ended.stdout}{ended.stderr}"


@contextmanager
def running_kdc(folder: Path) -> Iterator[Realm]:
    """Create a realm and start its KDC; end the KDC at the end.

    Raises:
        KerberosMissingError: the programs are missing, and cannot be installed.
    """
    if subprocess.run([REPOSITORY / "scripts" / "ensure_kerberos.sh"], check=False, timeout=600).returncode:
        raise KerberosMissingError
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    variables = {
        **os.environ,
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
        "KRB5_CONFIG": str(folder / "krb5.conf"),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
    }
    realm = Realm(folder, variables)
    # The principal of a server must contain the name "localhost", whatever name the machine has.
    realm.configuration.write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
        f" rdns = false\n udp_preference_limit = 1\n"
        f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
        f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
        f"  acl_file = {folder}/kadm5.acl\n }}\n"
    )
    realm.run("kdb5_util", "-r", REALM, "create", "-s", "-P", "master")
    log = folder / "kdc.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["krb5kdc", "-n", "-r", REALM], env=variables, stdout=output, stderr=output
        )
    try:
        _wait_until_it_listens(port, process, log)
        yield realm
    finally:
        process.terminate()
        process.wait(30)


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
