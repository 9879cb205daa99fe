"""Write rows into a Hudi table, in files of the target size. Run this script with spark-submit or plain python.

spark-submit also needs the engine: ``--py-files dist/hudi_table_services.zip``. ``make archive`` builds this zip.
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.writing import UPSERT

if __name__ == "__main__":
    sys.exit(main(UPSERT))
