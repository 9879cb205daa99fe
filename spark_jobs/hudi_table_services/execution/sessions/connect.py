"""Open and close sessions of a Spark Connect server. A job with such a session needs no JVM of its own.

The driver's Python runs in this process, and the server runs the Spark tasks. Therefore the server needs the packages
on which the engine depends, but not the engine itself: each session uploads the engine as an artifact.

The id of a session depends on the request, its job and its table. If the process of an earlier run was killed, the
server can still run the tasks of that run. The next run of the request finds the session by its id, and ends it.
"""

import io
import itertools
import logging
import re
import socket
import tempfile
import threading
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hudi_table_services.errors import ExecutionFailedError, InvalidRequestError
from hudi_table_services.source_archive import write_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

DEFAULT_PORT = 15002
"""Port of a server whose address contains no port. This port is Spark's default."""

_SESSIONS = uuid.UUID("8a2f5f0e-5d0b-4f0f-9a57-6a1f3c1f5b0e")
_OWNER = "spark.hudi_table_services.owner"
"""Property that identifies the run which has opened a session."""
_ANSWER_TIMEOUT_S = 10.0
_INTERRUPTED_WITHIN_S = 1.0
_CLOSED = re.compile(r"SESSION_CLOSED|SESSION_CHANGED")
_SPLITS = re.compile(r"splits=(\d+)")
_SERVERS: "weakref.WeakKeyDictionary[SparkSession, tuple[str, int]]" = weakref.WeakKeyDictionary()
_PARALLELISM: "weakref.WeakKeyDictionary[SparkSession, int]" = weakref.WeakKeyDictionary()
_WITH_ENGINE: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()
"""Sessions to which this process has uploaded the engine."""


def is_connect(spark: "SparkSession") -> bool:
    """Return whether a Spark Connect server runs the session."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def open_session(remote: str, *, identity: str, conf: Mapping[str, str]) -> "SparkSession":
    """Open a new session for a request. First end the sessions that earlier runs of the request left open.

    Args:
        remote: address of the server, ``sc://host:port/;name=value``.
        identity: string that all runs of the request share, and that no other request has.
        conf: properties of the session. A warning names the properties that only the server can set, such as its
            memory.

    Raises:
        InvalidRequestError: the address is invalid.
        ExecutionFailedError: a package is missing, or the server does not answer.
    """
    host, port = _host_and_port(remote)
    warnings.filterwarnings("ignore", module=r"pyspark\.")  # for developers of PySpark
    _require_packages()
    _require_server(host, port)
    spark = None
    try:
        spark = next(filter(None, map(partial(_open, remote), _session_ids(identity))))
        _SERVERS[spark] = (host, port)
        _LOG.info("Spark Connect server: %s:%d, Spark %s", host, port, spark.version)
        _apply(spark, conf)
        upload_engine(spark)
    except BaseException as error:
        if spark is not None:
            with suppress(Exception):
                close_session(spark)
        if not isinstance(error, Exception):
            raise
        raise ExecutionFailedError(
            f"The Spark Connect server at {host}:{port} opened no session: {first_line(error)}",
            hint="See the log of the server. Use the same release of Spark for client and server.",
        ) from error
    return spark


def close_session(spark: "SparkSession") -> None:
    """End the Spark jobs of a session, and the session itself. If the server has died, close only the client."""
    server = _SERVERS.get(spark)
    if server is not None and not _listens(*server):
        # Spark's client would repeat its last requests for about ten minutes.
        setattr(spark, "release_session_on_close", False)  # noqa: B010 - releases before 4.0 do not have this attribute
        _LOG.warning(
            "The Spark Connect server at %s:%d does not answer, so its session is not ended.", *server
        )
    else:
        spark.interruptAll()
    spark.stop()


def interrupt_jobs() -> None:
    """Ask the server to end the Spark jobs of this process's sessions, and wait for at most a second.

    A signal handler calls this function while the main thread waits for the server. Separate threads send the requests,
    because the main thread may have acquired a lock of the client.
    """
    threads = [
        threading.Thread(target=_interrupt, args=(spark,), name="interrupt", daemon=True)
        for spark in _SERVERS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_INTERRUPTED_WITHIN_S)


def _interrupt(spark: "SparkSession") -> None:
    with suppress(Exception):
        spark.interruptAll()


def parallelism(spark: "SparkSession") -> int:
    """Return the number of tasks that the server's cluster runs in parallel.

    The API of Spark Connect does not return this number. But the plan of a range contains this number as the number of
    partitions, if the caller of `range` gives no number.
    """
    if spark not in _PARALLELISM:
        with redirect_stdout(io.StringIO()) as plan:
            spark.range(1).explain()
        found = _SPLITS.search(plan.getvalue())
        _PARALLELISM[spark] = int(found[1]) if found else 2
    return _PARALLELISM[spark]


def first_line(error: BaseException) -> str:
    """Return the first line of the error's message, or the name of the error's class."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _host_and_port(remote: str) -> tuple[str, int]:
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme != "sc":
        raise InvalidRequestError(
            "The address of the Spark Connect server is invalid.",
            hint="The form is sc://host:port, or sc://host:port/;name=value for parameters such as use_ssl=true.",
        )
    if "session_id=" in remote:
        raise InvalidRequestError(
            "The address of the Spark Connect server contains session_id.",
            hint="Remove session_id: each job opens a session of its own.",
        )
    return host, port


def _require_packages() -> None:
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        raise ExecutionFailedError(
            f"A session of Spark Connect needs further packages: {first_line(error)}",
            hint="In the Python that runs this job, run pip install pyspark-client, or pip install 'pyspark[connect]'.",
        ) from error


def _require_server(host: str, port: int) -> None:
    """Check that a server listens. Without this check, Spark's client would retry for ten minutes."""
    try:
        socket.create_connection((host, port), _ANSWER_TIMEOUT_S).close()
    except OSError as error:
        raise ExecutionFailedError(
            f"No Spark Connect server answers at {host}:{port}: {error}",
            hint="Start the server, or correct its address.",
        ) from error


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), _ANSWER_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _session_ids(identity: str) -> Iterator[str]:
    """Yield the ids that each run of a request tries for its session, one after another."""
    for number in itertools.count():
        yield str(uuid.uuid5(_SESSIONS, f"{identity}/{number}"))


def _open(remote: str, session_id: str) -> "SparkSession | None":
    """Open the session with this id, or return None if another run has used the id.

    If the server still has the session of an earlier run, end this session and its Spark jobs.
    """
    from pyspark.sql import SparkSession

    with_parameters = remote.removesuffix(";") if ";" in remote else f"{remote.rstrip('/')}/"
    address = f"{with_parameters};session_id={session_id}"
    spark = SparkSession.builder.remote(address).getOrCreate()
    try:
        is_earlier = bool(spark.conf.get(_OWNER, ""))
    except Exception as error:
        if not _CLOSED.search(str(error)):
            raise
        # The server would refuse a request to release the session again.
        setattr(spark, "release_session_on_close", False)  # noqa: B010 - releases before 4.0 do not have this attribute
        spark.stop()
        return None
    if is_earlier:
        _LOG.warning("An earlier run of this request left a Spark session open; this run ends the session.")
        spark.interruptAll()
        spark.stop()
        return None
    owner = uuid.uuid4().hex
    spark.conf.set(_OWNER, owner)
    # Two runs of one request may open the session at the same time. The run that wrote last owns the session.
    return spark if spark.conf.get(_OWNER, "") == owner else None


def _apply(spark: "SparkSession", conf: Mapping[str, str]) -> None:
    refused = []
    for key, value in conf.items():
        try:
            spark.conf.set(key, value)
            is_effective = not key.startswith("spark.") or spark.conf.isModifiable(key)
        except Exception as error:
            _LOG.debug("The server refused %s: %s", key, error)
            is_effective = False
        if not is_effective:
            refused.append(key)
    if refused:
        _LOG.warning(
            "A session of the Spark Connect server cannot set %s; the values of the server apply.",
            ", ".join(refused),
        )


def upload_engine(spark: "SparkSession") -> None:
    """Upload the engine to a session, so that the session's Python workers can import the engine.

    Further calls for the same session do nothing.
    """
    if spark in _WITH_ENGINE:
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(Path(folder) / "hudi_table_services.zip")
        spark.addArtifacts(str(archive), pyfile=True)
    _WITH_ENGINE.add(spark)
