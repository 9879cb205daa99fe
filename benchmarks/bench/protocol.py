"""Send messages from a measured process to the process that started it, as lines on standard output."""

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

_PREFIX = "@bench "
READY = "ready"
BEGIN = "begin"
END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Message that the timed part began, or ended after ``seconds``. ``write_seconds`` has one number per write.

    `READY` means that the process waits for a line on its standard input before it begins with the timed part.
    """

    kind: str
    seconds: float = 0.0
    write_seconds: tuple[float, ...] = ()

    def send(self) -> None:
        print(_PREFIX + json.dumps(asdict(self)), flush=True, file=sys.stdout)


def parse_event(line: str) -> Event | None:
    """Parse the event in a line; return None if the line is log output."""
    if not line.startswith(_PREFIX):
        return None
    document = json.loads(line.removeprefix(_PREFIX))
    return Event(
        kind=document["kind"],
        seconds=document["seconds"],
        write_seconds=tuple(document["write_seconds"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The work of a measured process, passed as JSON on its command line.

    Attributes:
        table: folder of the table; contains the base table if the scenario starts from a base table.
        scratch: folder for the warm-up table and for shuffle files.
        prepares: whether the process only creates the table that a service starts from.
        options: options of every write and service, added to those that the system always gets.
        profile: folder for the sampled stacks of the JVM; empty if the process is not sampled.
        profiler_jar: path of the jar of async-profiler; empty if the process is not sampled.
        profile_rate: samples per second of processor time.
    """

    system: str
    scenario: str
    inputs: Path
    table: Path
    scratch: Path
    cores: int
    driver_memory: str
    prepares: bool = False
    options: dict[str, str] = field(default_factory=dict)
    profile: str = ""
    profiler_jar: str = ""
    profile_rate: int = 0

    def to_json(self) -> str:
        texts = {key: str(value) for key, value in asdict(self).items()}
        return json.dumps({**texts, "options": self.options})

    @classmethod
    def from_json(cls, text: str) -> "Job":
        document = json.loads(text)
        for key in ("inputs", "table", "scratch"):
            document[key] = Path(document[key])
        typed = {
            "cores": int(document["cores"]),
            "prepares": document["prepares"] == "True",
            "profile_rate": int(document["profile_rate"]),
        }
        return cls(**{**document, **typed})
