"""The formatting of numbers with their nouns."""

import pytest

from hudi_table_services.contract.text import counted


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
