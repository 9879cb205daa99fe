"""Let the tests import the packages of benchmarks/."""

import sys
from pathlib import Path

# At the end of the path, because names of scripts in this folder, such as `worker`, must not hide other modules.
sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
