"""The formatting of numbers with their nouns, and advice about misspelled words."""

import pytest

from hudi_table_services.contract.text import (
    counted,
    did_you_mean,
)


@pytest.mark.parametrize(
    ("number", "spec", "expected"),
    [
        (0, "", "0 file groups"),
        (1, "", "1 file group"),
        (2, "", "2 file groups"),
        (1536, ",", "1,536 file groups"),
        (1.0, "g", "1 file group"),
        (1.5, "g", "1.5 file groups"),
    ],
)
def test_only_the_number_one_has_a_singular_noun(number: float, spec: str, expected: str) -> None:
    assert counted(number, "file group", spec) == expected


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("upsrt", "Did you mean upsert?"),
        ("UPSRT", "Did you mean upsert?"),
        ("UPSERT", "Did you mean upsert? Only upper and lower case differ."),
        ("Bulk_Insert", "Did you mean bulk_insert? Only upper and lower case differ."),
        ("merge", "otherwise"),
    ],
)
def test_the_advice_names_the_most_similar_word_and_says_if_only_the_case_differs(
    given: str, advice: str
) -> None:
    assert did_you_mean(given, ("upsert", "insert", "bulk_insert"), otherwise="otherwise") == advice
