"""Fixtures of this folder: a Kerberos realm, and an HDFS that accepts only its users."""

import os
from collections.abc import Iterator

import pytest
from kdc import Realm, running_kdc

from platforms.hdfs.name_node import Hdfs, running_hdfs


@pytest.fixture(scope="session")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_kdc(tmp_path_factory.mktemp("realm") / "kdc") as running:
        yield running


@pytest.fixture(scope="session")
def secured_hdfs(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    principal, keytab = realm.keytab("hdfs/localhost")
    security = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "dfs.block.access.token.enable": "true",
        # Without this setting, a DataNode needs ports below 1024, or TLS.
        "ignore.secure.ports.for.testing": "true",
        "dfs.namenode.kerberos.principal": principal,
        "dfs.namenode.keytab.file": str(keytab),
        "dfs.datanode.kerberos.principal": principal,
        "dfs.datanode.keytab.file": str(keytab),
        "dfs.web.authentication.kerberos.principal": principal,
        "dfs.web.authentication.kerberos.keytab": str(keytab),
    }
    folder = tmp_path_factory.mktemp("secured-hdfs")
    flags = [f"-Djava.security.krb5.conf={realm.configuration}"]
    with running_hdfs(folder, os.environ["JAVA_HOME"], security=security, java_flags=flags) as running:
        yield running
