"""Rows, options and parameters that the tests of the acceptance rules share."""

import pytest

from judges.oracle import EDGES, SAMPLED_ORACLES
from judges.rows import OUR_ROWS, merged, some_rows

every_oracle = pytest.mark.parametrize("oracle", SAMPLED_ORACLES)
oldest_and_newest = pytest.mark.parametrize("oracle", EDGES, ids=str)
every_version = pytest.mark.parametrize("version", [6, 8, 9])

BLOOM = {"index__type": "BLOOM", "parquet__small__file__limit": "0"}
SIMPLE = {"index__type": "SIMPLE", "parquet__small__file__limit": "0"}

OURS = merged({}, OUR_ROWS)
# One row of each partition, so that Hudi merges every file group and copies 19 rows of each group unchanged.
TOUCHED = [0, 1]
TOUCHING = some_rows(TOUCHED, 2)
