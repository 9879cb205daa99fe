"""Translate errors of hdfs-native, whose messages contain answers of servers and failures of the Kerberos library."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hudi_table_services.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
)

AUTHENTICATION = "hadoop.security.authentication"
"""Setting of Hadoop: ``kerberos``, or ``simple`` (default), in which a client only names its user."""

NOT_EMPTY = "PathIsNotEmptyDirectoryException"

_ANSWER = re.compile(
    r'(?:Fatal)?RPCError\("(?:[\w.]*[.$])?(?P<name>\w+)", "(?P<message>.*?)(?:\\n.*)?"\)$', re.DOTALL
)
"""Answer of a server: the class of a Java exception, and its message without the stack trace."""

_KERBEROS = re.compile(
    r'(?:GSSAPIError\(.*\}, (?P<minor>\d+), |SASLError\()"(?P<message>.*)"\)$|NoSASLMechanism$', re.DOTALL
)
"""Failure of a login: the minor status of the Kerberos library, and the message."""

_KDC_UNREACHABLE = str(2**32 - 1765328228)
"""KRB5_KDC_UNREACH of MIT Kerberos (krb5_err.et) as hdfs-native prints it: an unsigned number of 32 bits."""

_LIBRARY_MISSING = "Failed to load libgssapi_krb"
_CLOSED = "RPC listener disconnected"

_MISSING = ("FileNotFoundException", "ParentNotDirectoryException")
_EXISTS = ("FileAlreadyExistsException",)
_DENIED = ("AccessControlException", "AuthorizationException")
_LOGIN_FAILED = ("GSSException", "InvalidToken", "SaslException")

_ACCESS = (
    "Give the job's user read, write and delete access below the base path. Without Kerberos, the user is "
    "HADOOP_USER_NAME, or else the user of the process."
)
_LOG_IN = (
    "With a keytab, set the storage options kerberos_principal and kerberos_keytab. With a ticket of kinit, set the "
    "variable KRB5CCNAME, or kerberos_principal and kerberos_cache. The driver, Spark's workers and Airflow's worker "
    "need the keytab or a valid ticket, and the realm's krb5.conf."
)
_CONNECT_WITH_KERBEROS = (
    "A NameNode that requires Kerberos closes the connection of a client that does not use it. In this case, set the "
    "storage options kerberos_principal and kerberos_keytab, or, with a ticket of kinit, "
    f"{AUTHENTICATION}=kerberos. In other cases, check the address and the log of the NameNode."
)
_FULL = "Free some space or raise the quota, and run the request again. The new run cleans up after this run."
_HINTS = {
    "DSQuotaExceededException": _FULL,
    "NSQuotaExceededException": _FULL,
    "SafeModeException": "The NameNode is in safe mode and refuses changes. Run the request again later.",
    "InvalidPathException": "HDFS permits no ':' in names. For partition values with this character, set "
    "hoodie.datasource.write.partitionpath.urlencode=true when you create the table.",
}
"""Advice for some classes of Java exceptions."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Cause of an error of hdfs-native.

    Attributes:
        reason: message without the stack trace and without a full stop.
        java_class: class of a server's exception without its package; empty if the error is not an answer of a server.
        error: class of the translated error.
        hint: advice for the user; empty if there is none.
    """

    reason: str
    java_class: str = ""
    error: type[StorageError] = StorageError
    hint: str = ""


@contextmanager
def translate_errors(operation: str, path: str) -> Iterator[None]:
    """Translate errors of hdfs-native into errors that name the operation and the path."""
    what = f"Cannot {operation} {path or 'the base path'!r}"
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"{what}: it does not exist.", path=path) from error
    except FileExistsError as error:
        raise ObjectExistsError(f"{what}: it exists already.", path=path) from error
    except (RuntimeError, OSError, ValueError) as error:
        found = failure_of(error)
        raise found.error(f"{what}: {found.reason}.", path=path, hint=found.hint) from error


def failure_of(error: Exception) -> Failure:
    """Find the cause of an error, in its message or in its type.

    hdfs-native raises most errors as RuntimeErrors whose message has the format of Rust's ``Debug``.
    """
    text = str(error)
    if answer := _ANSWER.match(text):
        return _answer(answer["name"], _plain(answer["message"]))
    if failed := _KERBEROS.match(text):
        return _failed_login(
            _plain(failed["message"] or "the NameNode offers no known method"), failed["minor"]
        )
    reason = (text.strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if _LIBRARY_MISSING in text:
        hint = "Install Kerberos: the package libgssapi-krb5-2 of Debian, or krb5-libs of RHEL."
        return Failure(reason, error=StoragePermissionError, hint=hint)
    if isinstance(error, PermissionError):
        return Failure(reason, error=StoragePermissionError, hint=_ACCESS)
    return Failure(reason, hint=_CONNECT_WITH_KERBEROS if text == _CLOSED else "")


def _answer(java_class: str, message: str) -> Failure:
    if java_class in _EXISTS:
        return Failure("it exists already", java_class, ObjectExistsError)
    if java_class in _MISSING:
        return Failure("it does not exist", java_class, ObjectNotFoundError)
    reason = f"{message} ({java_class})"
    if java_class in _DENIED:
        return Failure(reason, java_class, StoragePermissionError, _ACCESS)
    if java_class in _LOGIN_FAILED:
        return Failure(reason, java_class, StoragePermissionError, _LOG_IN)
    return Failure(reason, java_class, hint=_HINTS.get(java_class, ""))


def _failed_login(message: str, minor: str | None) -> Failure:
    reason = f"the login with Kerberos failed: {message}"
    if minor == _KDC_UNREACHABLE:  # an outage, so a retry can succeed
        return Failure(reason, hint="Check the network, and the addresses of the KDC in krb5.conf.")
    return Failure(reason, error=StoragePermissionError, hint=_LOG_IN)


def _plain(message: str) -> str:
    """Undo the escapes of quotes in Rust's ``Debug``, and remove the full stop."""
    return message.replace('\\"', '"').strip().rstrip(".")
