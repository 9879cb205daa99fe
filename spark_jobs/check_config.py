"""Check Hudi's settings for what would harm a table. Run it with plain python, or by spark-submit; it needs no Spark.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.config_check import CHECK_CONFIG

if __name__ == "__main__":
    sys.exit(main(CHECK_CONFIG))
