"""Write rows into a Hudi table with right-sized files. Give it to spark-submit, or run it with plain python.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.writing import UPSERT

if __name__ == "__main__":
    sys.exit(main(UPSERT))
