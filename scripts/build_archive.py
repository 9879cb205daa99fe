"""Build ``dist/hudi_table_services.zip``, the engine for ``spark-submit --py-files``.

Usage: ``python scripts/build_archive.py [TARGET]``. Needs only the standard library.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "spark_jobs"))

from hudi_table_services.source_archive import write_archive  # noqa: E402 - needs the path set above

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "dist" / "hudi_table_services.zip"
    print(write_archive(target))
