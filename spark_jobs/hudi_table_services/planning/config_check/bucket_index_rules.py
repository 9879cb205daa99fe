"""Rules about the bucket index, whose options Hudi does not store in the table."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.options.keys.bucket_index import BUCKET_ENGINE, NUM_BUCKETS
from hudi_table_services.options.keys.inline import INLINE_SWITCHES
from hudi_table_services.options.keys.writing import INDEX_TYPE
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_TYPE, _COUNT, _ENGINE = INDEX_TYPE.key, NUM_BUCKETS.key, BUCKET_ENGINE.key
_DOCS = "docs/bucket-index.md"
_NOT_STORED = "Hudi does not store the number in the table"


def _has_buckets(settings: Settings) -> bool:
    """Whether the options choose the bucket index with a fixed number of buckets."""
    return settings.text(_TYPE).upper() == "BUCKET" and settings.text(_ENGINE).upper() == "SIMPLE"


@config_rule(
    "bucket-count-implicit",
    Severity.WARNING,
    f"{_TYPE} is BUCKET, and {_COUNT} is not set: every write of the table must have the same number of buckets",
    source="HoodieIndexConfig; BucketIdentifier",
)
def _bucket_count_implicit(settings: Settings) -> Iterator[Problem]:
    if _has_buckets(settings) and not settings.has(_COUNT):
        yield Problem(
            keys=(_TYPE, _COUNT),
            reason=f"{_NOT_STORED}, so a write of another program with another number puts keys into second file "
            f"groups. Without the option, the number is {NUM_BUCKETS.default}.",
            cure=f"Set {_COUNT} explicitly, to the same number in all writers.",
        )


@config_rule(
    "buckets-clustered",
    Severity.ERROR,
    f"{_TYPE} is BUCKET, and an option switches on clustering: Hudi and the jobs of this project do not cluster a "
    "table with a fixed number of buckets",
    source="HoodieSimpleBucketLayout",
)
def _buckets_clustered(settings: Settings) -> Iterator[Problem]:
    for key, instead in INLINE_SWITCHES.items():
        if _has_buckets(settings) and "clustering" in key and settings.is_on(key):
            yield Problem(
                keys=(_TYPE, key),
                reason="A clustering would move rows out of the file groups of their buckets, so it fails.",
                cure=f"Leave {key} out, and do not run {instead}.",
            )


@config_rule(
    "buckets-differ-from-table",
    Severity.ERROR,
    f"{_TYPE} or {_COUNT} contradicts the ids of the file groups that the newest write of the table wrote: Hudi's "
    "writes fail, or write keys a second time",
    source="BucketIdentifier.bucketIdFromFileId; HoodieSimpleBucketIndex",
)
def _buckets_differ_from_table(settings: Settings) -> Iterator[Problem]:
    table = settings.table
    if table is None or not (table.bucket_numbers or table.has_other_file_ids):
        return
    largest, count = max(table.bucket_numbers, default=-1), settings.number(_COUNT)
    if not _has_buckets(settings):
        if settings.has(_TYPE) and not table.has_other_file_ids and settings.text(_TYPE).upper() != "BUCKET":
            yield Problem(
                keys=(_TYPE,),
                reason="All file ids of the newest write begin with numbers of buckets. The largest number is "
                f"{largest}.",
                cure=f"Set {_TYPE}=BUCKET, and {_COUNT} to the value of the earlier writes of the table.",
            )
    elif table.has_other_file_ids:
        yield Problem(
            keys=(_TYPE,),
            reason="File ids of the newest write do not begin with numbers of buckets.",
            cure=f"Leave {_TYPE} out. To change the index of a table, overwrite the whole table.",
        )
    elif count is not None and largest >= count:
        yield Problem(
            keys=(_TYPE, _COUNT),
            reason=f"The newest write wrote bucket {largest}, so the table has more buckets. {_NOT_STORED}.",
            cure=f"Set {_COUNT} to the value of the earlier writes of the table.",
        )


BUCKET_INDEX_RULES = (_bucket_count_implicit, _buckets_clustered, _buckets_differ_from_table)
