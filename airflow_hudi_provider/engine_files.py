"""The files that spark-submit needs: the job scripts and the engine as a zip, both from this installation."""

import hashlib
import importlib.util
import os
import tempfile
import zipfile
from pathlib import Path

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

_PACKAGE = "hudi_table_services"
_OLDEST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16


def script_path(name: str) -> Path:
    """The job script of this name, installed or in a checkout.

    Raises:
        HudiTaskRefusedError: the installation is not whole.
    """
    places = (Path(__file__).parent / "spark_jobs", _engine_folder().parent)
    for place in places:
        if (place / name).is_file():
            return place / name
    raise HudiTaskRefusedError(
        f"The job script {name} is not in {' or '.join(map(str, places))}. Install airflow-provider-hudi again."
    )


def engine_archive(folder: Path | None = None) -> Path:
    """The engine as ``--py-files`` takes it, made once per content and found again by its checksum.

    Args:
        folder: where it is kept; None: a folder of this user's in the temporary folder.
    """
    files = [
        (path.relative_to(_engine_folder().parent).as_posix(), path.read_bytes())
        for path in _engine_sources()
    ]
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    place = folder or Path(tempfile.gettempdir()) / f"airflow-hudi-{os.getuid()}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        raise HudiTaskRefusedError(f"{place} belongs to another user; set TMPDIR to a folder of your own.")
    target = place / f"{_PACKAGE}-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        _write_archive(target, files)
    return target


def _write_archive(target: Path, files: list[tuple[str, bytes]]) -> None:
    """Replaced in one step, so that a task beside this one never ships half of it."""
    handle, unfinished = tempfile.mkstemp(dir=target.parent, suffix=".unfinished")
    with os.fdopen(handle, "wb") as sink, zipfile.ZipFile(sink, "w") as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, _OLDEST_ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _READABLE_FILE
            archive.writestr(entry, content)
    os.replace(unfinished, target)


def _engine_folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise HudiTaskRefusedError(f"The package {_PACKAGE} is not installed beside airflow_hudi_provider.")
    return Path(spec.origin).parent


def _engine_sources() -> list[Path]:
    found = _engine_folder().rglob("*")
    return sorted(
        path for path in found if path.is_file() and (path.suffix == ".py" or path.name == "py.typed")
    )
