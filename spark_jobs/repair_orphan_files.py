"""Find files of a Hudi table that belong to no instant. Run this script with plain python or with spark-submit.

spark-submit also needs the engine: ``--py-files dist/hudi_table_services.zip``. ``make archive`` builds this zip.
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.orphans import REPAIR_ORPHAN_FILES

if __name__ == "__main__":
    sys.exit(main(REPAIR_ORPHAN_FILES))
