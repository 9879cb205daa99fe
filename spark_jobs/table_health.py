"""Tell how a Hudi table is. Run it with plain python, or give it to spark-submit; it needs no Spark.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.health import TABLE_HEALTH

if __name__ == "__main__":
    sys.exit(main(TABLE_HEALTH))
