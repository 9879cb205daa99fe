"""Rebuild the metadata table of a Hudi table. Run this script with plain python or with spark-submit.

spark-submit also needs the engine: ``--py-files dist/hudi_table_services.zip``. ``make archive`` builds this zip.
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.metadata_table import REBUILD_METADATA_TABLE

if __name__ == "__main__":
    sys.exit(main(REBUILD_METADATA_TABLE))
