"""Partition values from partition paths."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import PartitionExtractor
from hudi_table_services.planning.catalog.partition_values import PartitionRule, inferred_extractor


def rule(count: int, extractor: PartitionExtractor | None = None, *, decodes: bool = False) -> PartitionRule:
    fields = tuple("abcd"[:count])
    return PartitionRule(fields=fields, extractor=extractor or inferred_extractor(count), decodes=decodes)


@pytest.mark.parametrize(
    ("count", "path", "values"),
    [
        (1, "2026", ("2026",)),
        (1, "year=2026", ("2026",)),
        (1, "2026/01/02", ("2026-01-02",)),
        (1, "day=2026/01/02", ("2026-01-02",)),
        (1, "x=y=z", ("y=z",)),
        (2, "2026/01", ("2026", "01")),
        (2, "year=2026/month=01", ("2026", "01")),
        (2, "__HIVE_DEFAULT_PARTITION__/01", ("__HIVE_DEFAULT_PARTITION__", "01")),
    ],
)
def test_values_follow_from_the_number_of_columns(count: int, path: str, values: tuple[str, ...]) -> None:
    assert rule(count).values_of(path) == values


@pytest.mark.parametrize(
    ("extractor", "path", "value"),
    [
        (PartitionExtractor.SLASH_ENCODED_DAY, "2026/1/2", "2026-01-02"),
        (PartitionExtractor.SLASH_ENCODED_DAY, "y=2026/m=01/d=02", "2026-01-02"),
        (PartitionExtractor.SLASH_ENCODED_HOUR, "2026/01/02/03", "2026-01-02-03"),
        (PartitionExtractor.HIVE_STYLE, "day=2026-01-02", "2026-01-02"),
        (PartitionExtractor.SINGLE_PART, "a/b", "a-b"),
    ],
)
def test_an_extractor_of_hudi_gives_its_value(extractor: PartitionExtractor, path: str, value: str) -> None:
    assert rule(1, extractor).values_of(path) == (value,)


def test_escaped_values_are_decoded_if_the_table_escapes_them() -> None:
    assert rule(1, decodes=True).values_of("city=S%C3%A3o%2FPaulo") == ("São/Paulo",)
    assert rule(1).values_of("city=S%2FP") == ("S%2FP",)


@pytest.mark.parametrize(
    ("count", "extractor", "path"),
    [
        (2, None, "2026"),
        (2, None, "2026/01/02"),
        (1, PartitionExtractor.SLASH_ENCODED_DAY, "2026/01"),
        (1, PartitionExtractor.SLASH_ENCODED_DAY, "2026/01/xx"),
        (1, PartitionExtractor.HIVE_STYLE, "2026"),
        (2, PartitionExtractor.SLASH_ENCODED_DAY, "2026/01/02"),
    ],
)
def test_the_error_names_a_path_that_does_not_fit(
    count: int, extractor: PartitionExtractor | None, path: str
) -> None:
    with pytest.raises(InvalidRequestError, match=path):
        rule(count, extractor).values_of(path)
