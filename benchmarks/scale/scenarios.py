"""The loads of the page docs/scale.md: one terabyte a day into a table of 5,000 partitions and 20 terabytes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scale.load_model import cores_worth_adding, predict
from scale.load_values import Cluster, Costs, Load, Prediction, Requests
from scale.shapes import BYTES_OF_A_ROW

BYTES_OF_A_DAY = 10**12
GROUPS, PARTITIONS = 100_000, 5_000
ROWS_OF_A_GROUP = 1_000_000
SECONDS_OF_A_DAY = 86_400
MOST_FOOTERS = 256
"""Greatest number of footers that a write reads for the estimate of the record size."""

CORES = (10, 100, 1_000)
SMALL_FILE_ROWS = 250_000
"""Mean rows of a small file that a load fills up: half of the default of ``hoodie.parquet.small.file.limit``."""

CLUSTER = Cluster(cores=1, request_s=0.03, bytes_per_s_of_a_core=150e6)
"""An object store that answers in 30 ms. Eight cores share a network of 10 Gbit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way to load one terabyte a day.

    Attributes:
        loads_a_day: number of equal loads.
        partitions: number of partitions that each load changes.
        update_share: share of the rows that change stored rows. They are spread over all file groups of these
            partitions.
        searches: whether the write reads the keys of the base files of these partitions. A bucket index avoids this.
        writes_logs: whether all rows are written to log files of existing file groups, as with a bucket index.
    """

    title: str
    loads_a_day: int
    partitions: int
    update_share: float
    writes_logs: bool = False
    searches: bool = True

    @property
    def load(self) -> Load:
        groups = self.partitions * GROUPS // PARTITIONS
        rows = BYTES_OF_A_DAY / BYTES_OF_A_ROW / self.loads_a_day
        # An upsert of a copy-on-write table rewrites the small files anyway, because rows of all files change.
        fills = not self.update_share
        return Load(
            rows=rows,
            changed_rows=rows if self.writes_logs else rows * self.update_share,
            row_bytes=BYTES_OF_A_ROW,
            partitions=self.partitions,
            table_groups=GROUPS,
            groups_changed=groups if self.update_share else 0,
            rows_of_a_group=ROWS_OF_A_GROUP,
            groups_searched=groups if self.searches else 0,
            small_file_rows=SMALL_FILE_ROWS if fills else 0,
            footers=min(MOST_FOOTERS, groups),
            writes_logs=self.writes_logs,
        )


SCENARIOS = (
    Scenario(
        title="insert, all partitions", loads_a_day=24, partitions=5_000, update_share=0, searches=False
    ),
    Scenario(
        title="insert, newest 200 partitions", loads_a_day=24, partitions=200, update_share=0, searches=False
    ),
    Scenario(title="upsert, newest 200 partitions", loads_a_day=24, partitions=200, update_share=0.1),
    Scenario(title="upsert, all partitions", loads_a_day=24, partitions=5_000, update_share=0.1),
    Scenario(title="upsert, all partitions, once a day", loads_a_day=1, partitions=5_000, update_share=0.1),
    Scenario(
        title="upsert, all partitions, log files, bucket index",
        loads_a_day=24,
        partitions=5_000,
        update_share=0.1,
        writes_logs=True,
        searches=False,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfLoads:
    """Predicted loads of one day on a cluster."""

    scenario: Scenario
    prediction: Prediction

    @property
    def hours(self) -> float:
        """Hours in which the loads of a day run. More than 24 means that the cluster is too small."""
        return self.prediction.seconds * self.scenario.loads_a_day / 3600

    @property
    def core_hours(self) -> float:
        """Hours of all cores while the loads run, whether the cores work or wait."""
        return self.hours * self.prediction.cluster.cores

    @property
    def requests(self) -> float:
        return self.prediction.requests * self.scenario.loads_a_day


def days(costs: Costs, requests: Requests, core_speed: float) -> Iterator[DayOfLoads]:
    """Predict each scenario on each number of cores.

    Args:
        core_speed: see `Cluster`.
    """
    for scenario in SCENARIOS:
        for cores in CORES:
            cluster = replace(CLUSTER, cores=cores, core_speed=core_speed)
            yield DayOfLoads(scenario=scenario, prediction=predict(costs, requests, cluster, scenario.load))


def useful_cores(costs: Costs, requests: Requests, core_speed: float) -> Iterator[tuple[Scenario, int]]:
    """Yield, for each scenario, the number of cores up to which doubling the cores is worthwhile."""
    cluster = replace(CLUSTER, core_speed=core_speed)
    for scenario in SCENARIOS:
        yield scenario, cores_worth_adding(costs, requests, cluster, scenario.load)
