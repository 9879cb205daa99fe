"""Execute pending compactions of a Hudi table. Run this script with spark-submit or with plain python.

spark-submit also needs the engine: ``--py-files dist/hudi_table_services.zip``. ``make archive`` builds this zip.
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.compaction import EXECUTE_COMPACTION

if __name__ == "__main__":
    sys.exit(main(EXECUTE_COMPACTION))
