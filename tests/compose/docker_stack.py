"""A Docker daemon for one test, and Compose on this daemon.

After the test, no container, network or firewall rule of the daemon remains.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_DATA = ROOT / ".tools" / "docker-data"
_READY_WITHIN_S = 60.0
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


class DockerError(Exception):
    """A command of Docker failed. The message contains its output."""


class DockerDaemon:
    """A context manager that runs a daemon with its own folder. Images stay in ``.tools``, for the next run.

    The daemon changes no firewall rule (`--iptables=false`), so its containers reach only each other. Images are built
    in the network of the host.
    """

    def __init__(self) -> None:
        # The path of the socket must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="hudi-docker-"))
        self.variables = {**os.environ, "DOCKER_HOST": f"unix://{self.folder}/sock", "DOCKER_BUILDKIT": "0"}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "DockerDaemon":
        with (self.folder / "dockerd.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd",
                    *("--data-root", str(_DATA), "--exec-root", f"{self.folder}/exec"),
                    *("--pidfile", f"{self.folder}/pid", "-H", f"unix://{self.folder}/sock"),
                    *("--iptables=false", "--ip6tables=false", "--bridge=none"),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while subprocess.run(
            ["docker", "info"], env=self.variables, capture_output=True, check=False
        ).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise DockerError(f"The daemon did not start:\n{self._log()[-3000:]}")
            time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        # The daemon leaves the namespace of the host's network mounted.
        subprocess.run(["umount", f"{self.folder}/exec/netns/default"], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def docker(self, *words: str, timeout_s: float = 600) -> str:
        return run(["docker", *words], self.variables, timeout_s)

    def import_base(self, archive: Path) -> str:
        """Create the base image, with the certificates of this machine, unless it exists; return the image's name."""
        image = f"hudi-test-base:{archive.stem.rpartition('-')[2]}"
        if self.docker("images", "--quiet", image).strip():
            return image
        names = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
        changes = [word for name in names for word in ("--change", f"ENV {name}={_CERTIFICATES}")]
        self.docker("import", *changes, str(archive), image)
        return image

    def _log(self) -> str:
        return (self.folder / "dockerd.log").read_text(errors="replace")


class ComposeStack:
    """The services of docker-compose.yaml on a daemon.

    Args:
        settings: file with the settings, as ``.env``.
        override: further Compose file.
        variables: further settings.
    """

    def __init__(
        self, daemon: DockerDaemon, settings: Path, override: Path, variables: Mapping[str, str]
    ) -> None:
        self._variables = {**daemon.variables, **variables}
        self._command = [
            "docker-compose",
            *("--project-name", "hudi", "--project-directory", str(ROOT), "--env-file", str(settings)),
            *("--file", str(ROOT / "docker-compose.yaml"), "--file", str(override)),
        ]

    def __call__(self, *words: str, timeout_s: float = 1800) -> str:
        return run([*self._command, *words], self._variables, timeout_s)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command of Compose, and return its process."""
        return subprocess.Popen(
            [*self._command, *words],
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def run(command: Sequence[str], variables: Mapping[str, str], timeout_s: float) -> str:
    done = subprocess.run(
        command,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode:
        raise DockerError(f"{' '.join(command)}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def rules_without_counters(rules: str) -> list[str]:
    """Lines of ``iptables-save`` without comments and without the counters of packets and bytes."""
    return [re.sub(r"\s*\[\d+:\d+\]\s*", "", line) for line in rules.splitlines() if not line.startswith("#")]


def network_state() -> tuple[str, list[str]]:
    """Firewall rules and policies, without counters of packets, and bridges of this machine."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    lines = rules_without_counters(rules)
    bridges = sorted(path.parent.name for path in Path("/sys/class/net").glob("*/bridge"))
    return "\n".join(lines), bridges
