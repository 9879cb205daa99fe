"""Run part of a test in a separate process: on a small disk that can be filled, or as an unprivileged user."""

import _strptime  # noqa: F401 - see below
import codecs
import ctypes
import os
import subprocess
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

# Jobs import these modules only when they need them. An unprivileged user may not be able to read the interpreter's
# folder, so this module imports them first.
import hudi_table_services.execution.history_files  # noqa: F401

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000
_UNPRIVILEGED_ID = 65534
_SHOWN = 12_000


# Python imports a codec at its first use. The unprivileged user may be unable to read the files of this Python.
codecs.lookup("utf-16-be")


def as_unprivileged_user(body: Callable[[], None]) -> None:
    """Run the body as a user whom file modes restrict: root drops its privileges, other users keep their id."""
    _in_a_process(lambda: (_drop_privileges(), body()))


def on_a_small_disk(folder: Path, kilobytes: int, body: Callable[["SmallDisk"], None]) -> None:
    """Run the body with a file system of this size, mounted at the folder for this process only.

    A user other than root becomes root in a separate namespace, as with `unshare --map-root-user --mount` in a shell.
    If the system refuses the namespace, the test is skipped. Root needs no namespace; if the mount fails, the test
    fails.
    """
    is_root = os.geteuid() == 0
    if not is_root and subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip(
            "this user cannot mount: run the test as root, or on a system that allows user namespaces"
        )

    def mounted() -> None:
        _own_mounts(is_root)
        options = f"size={kilobytes}k,nr_inodes=0"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
        body(SmallDisk(folder))

    _in_a_process(mounted)


class SmallDisk:
    """A small file system that a test fills with a file of padding.

    Attributes:
        folder: the mount point.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._padding = folder / "padding"

    def fill(self, pages: int = 0) -> None:
        """Fill the disk except for this number of pages; each file that is not empty needs at least one page."""
        found = os.statvfs(self.folder)
        with open(self._padding, "ab") as file:
            size = file.tell() + (found.f_bavail - pages) * found.f_frsize
            assert size >= 0, "the disk is too small for this test"
            if size > file.tell():
                os.posix_fallocate(file.fileno(), 0, size)

    def free(self) -> None:
        """Delete the padding."""
        self._padding.unlink(missing_ok=True)


def _in_a_process(body: Callable[[], object]) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            with suppress(OSError):
                os.write(writing, traceback.format_exc()[-_SHOWN:].encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        message = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        pytest.fail(message or f"the process ended with status {status}", pytrace=False)


def _drop_privileges() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_UNPRIVILEGED_ID)
        os.setuid(_UNPRIVILEGED_ID)


def _own_mounts(is_root: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS | (0 if is_root else _NEW_USERS)):
        raise OSError(ctypes.get_errno(), "unshare")
    if not is_root:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
