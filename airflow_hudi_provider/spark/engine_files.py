"""Find the files of this installation that spark-submit needs: the job scripts, and the engine as a zip archive."""

import hashlib
import os
import tempfile
from pathlib import Path

import hudi_table_services
from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from hudi_table_services.source_archive import package_files, write_archive


def script_path(name: str) -> Path:
    """Return the path of a job script, from the installed package or from a checkout.

    Raises:
        HudiTaskRefusedError: the installation is incomplete.
    """
    engine = Path(hudi_table_services.__file__).parent
    places = (Path(__file__).parents[1] / "spark_jobs", engine.parent)
    for place in places:
        if (place / name).is_file():
            return place / name
    raise HudiTaskRefusedError(
        f"The job script {name} is not in {' or '.join(map(str, places))}. Install airflow-provider-hudi again."
    )


def engine_archive(folder: Path | None = None) -> Path:
    """Return the path of the engine as a zip archive for ``--py-files``. Reuse an archive of the same files.

    Args:
        folder: folder for the archive. None means a folder of this user below the temporary folder.
    """
    files = package_files()
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    place = folder or Path(tempfile.gettempdir()) / f"airflow-hudi-{os.getuid()}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        raise HudiTaskRefusedError(f"{place} belongs to another user; set TMPDIR to a folder of your own.")
    target = place / f"hudi_table_services-{digest.hexdigest()[:16]}.zip"
    return target if target.exists() else write_archive(target, files)
