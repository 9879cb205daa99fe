"""Plan a clustering of a Hudi table. Run it with plain python, or give it to spark-submit; it needs no Spark.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.clustering import SCHEDULE_CLUSTERING

if __name__ == "__main__":
    sys.exit(main(SCHEDULE_CLUSTERING))
