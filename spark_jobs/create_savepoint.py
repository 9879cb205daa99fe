"""Keep a Hudi table as of a commit. Run it with plain python, or give it to spark-submit; it needs no Spark.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.savepoints import CREATE_SAVEPOINT

if __name__ == "__main__":
    sys.exit(main(CREATE_SAVEPOINT))
