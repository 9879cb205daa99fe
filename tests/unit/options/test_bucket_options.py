"""Options of the bucket index: values, contradictions, and options without effect."""

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions

INDEX = {"hoodie.index.type": "bucket"}
COUNT, FIELD = "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"
SIZING = (
    "hoodie.parquet.max.file.size",
    "hoodie.parquet.small.file.limit",
    "hoodie.copyonwrite.insert.auto.split",
    "hoodie.copyonwrite.insert.split.size",
)


def resolve(options: dict[str, str], operation: str = "upsert") -> WriteOptions:
    return resolve_options(UpsertRequest(base_path="/t", options=options, operation=operation))


def test_the_options_have_the_defaults_of_hudi() -> None:
    options = resolve(INDEX)
    assert options.index_type.has_buckets
    assert (options.bucket_count, options.bucket_hash_fields) == (256, ())
    assert options.warnings == ()


def test_the_options_are_read() -> None:
    options = resolve({**INDEX, COUNT: "8", FIELD: "a, b", "hoodie.index.bucket.engine": "simple"})
    assert (options.bucket_count, options.bucket_hash_fields) == (8, ("a", "b"))
    assert options.warnings == ()


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.bucket.index.max.num.buckets",
        "hoodie.bucket.index.min.num.buckets",
        "hoodie.bucket.index.partition.rule.type",
        "hoodie.bucket.index.query.pruning",
        "hoodie.bucket.index.remote.partitioner.enable",
    ],
)
def test_keys_of_hudi_for_other_purposes_are_reported(key: str) -> None:
    (warning,) = resolve({**INDEX, key: "1"}).warnings
    assert warning.startswith(f"{key} has no effect here: it is for consistent hashing")


def test_hudis_name_of_the_layout_is_accepted_for_the_index_only() -> None:
    layout = {"hoodie.storage.layout.type": "BUCKET"}
    assert resolve({**INDEX, **layout}).index_type.has_buckets
    with pytest.raises(
        HudiTableServiceError, match="hoodie.storage.layout.type=BUCKET and hoodie.index.type=SIMPLE"
    ):
        resolve(layout)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}, "do not support CONSISTENT_HASHING"),
        ({COUNT: "0"}, f"{COUNT}=0 is too small"),
        ({COUNT: "100001"}, f"{COUNT}=100001 is too large: it must be at most 100000"),
        ({"hoodie.bucket.index.partition.expressions": "a.*,4"}, "differ between partitions"),
    ],
)
def test_unsupported_values_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(HudiTableServiceError, match=message):
        resolve({**INDEX, **options})


def test_options_without_effect_are_reported() -> None:
    given = dict.fromkeys(SIZING, "1000000") | {SIZING[2]: "false"}
    warnings = resolve({**INDEX, **given}).warnings
    assert len(warnings) == 4
    for key, warning in zip(SIZING, warnings, strict=True):
        assert warning.startswith(f"{key} has no effect here: the bucket index determines the file group")
    (own,) = resolve({COUNT: "8"}).warnings
    assert own == f"{COUNT} has no effect here: the index is not BUCKET."
    (deleted,) = resolve(
        {**INDEX, "hoodie.datasource.write.partitions.to.delete": "a"}, "delete_partition"
    ).warnings
    assert "delete_partition writes no rows" in deleted


@pytest.mark.parametrize(
    ("operation", "key", "has_warning"),
    [
        ("upsert", "hoodie.combine.before.upsert", True),
        ("insert", "hoodie.combine.before.insert", True),
        ("bulk_insert", "hoodie.combine.before.insert", True),
        ("insert_overwrite", "hoodie.combine.before.insert", False),
    ],
)
def test_the_job_always_writes_one_row_per_key(operation: str, key: str, has_warning: bool) -> None:
    warnings = resolve({**INDEX, key: "false"}, operation).warnings
    assert any("always writes one row per record key" in warning for warning in warnings) is has_warning
    assert resolve({**INDEX, key: "true"}, operation).warnings == ()
