"""Sentences about strings in a column of numbers."""

import pytest

from hudi_table_services.execution.sources.text_values import UnreadTexts


@pytest.mark.parametrize(
    ("example", "option"),
    [
        ("n/a", "--source-option nullValue=n/a"),
        ("not known", "--source-option nullValue='not known'"),
        ("n.a.", "--source-option nullValue='n.a.'"),
        ("it's", "the source option nullValue"),
        (None, "the source option nullValue"),
    ],
)
def test_the_option_that_reads_a_text_as_null_can_be_copied(example: str | None, option: str) -> None:
    assert UnreadTexts("price", "double", 4, 1, example).null_option == option
