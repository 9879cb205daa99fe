"""Schedule a compaction of a Hudi table. Run this script with plain python or with spark-submit; it needs no Spark.

spark-submit also needs the engine: ``--py-files dist/hudi_table_services.zip``. ``make archive`` builds this zip.
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.compaction import SCHEDULE_COMPACTION

if __name__ == "__main__":
    sys.exit(main(SCHEDULE_COMPACTION))
