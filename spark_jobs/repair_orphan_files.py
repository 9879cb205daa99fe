"""Find files of a Hudi table that belong to no instant. Run it with plain python or spark-submit.

With spark-submit ship the engine beside it: ``--py-files dist/hudi_table_services.zip`` (``make archive``).
"""

import sys

from hudi_table_services.cli import main
from hudi_table_services.services.orphans import REPAIR_ORPHAN_FILES

if __name__ == "__main__":
    sys.exit(main(REPAIR_ORPHAN_FILES))
