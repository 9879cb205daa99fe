"""Schemas that changed during a write, and partitions matched by patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.model.schema import Field, PrimitiveType, StructType
from hudi_table_services.planning.table.table_changes import partition_matches, refuse_changed_schema

NARROW = StructType((Field("k", PrimitiveType("string")),))
WIDE = StructType((*NARROW.fields, Field("c", PrimitiveType("long"))))


def test_a_column_added_during_the_write_is_a_conflict_that_names_the_column() -> None:
    with pytest.raises(CommitConflictError, match="the writer added the columns c") as refused:
        refuse_changed_schema(NARROW, WIDE)
    assert refused.value.retryable
    with pytest.raises(CommitConflictError, match="the writer changed the columns"):
        refuse_changed_schema(WIDE, NARROW)


def test_an_unchanged_or_missing_schema_is_accepted() -> None:
    refuse_changed_schema(WIDE, StructType(WIDE.fields))
    refuse_changed_schema(None, WIDE)
    refuse_changed_schema(WIDE, None)


@given(st.text(min_size=1))
def test_a_pattern_without_star_matches_only_itself(name: str) -> None:
    literal = name.replace("*", "+")
    assert partition_matches(literal, (literal,))
    assert not partition_matches(literal + "x", (literal,))
    assert not partition_matches("x" + literal, (literal,))


@given(st.text(), st.text(), st.text())
def test_a_star_stands_for_any_text(head: str, middle: str, tail: str) -> None:
    head, tail = head.replace("*", ""), tail.replace("*", "")
    assert partition_matches(head + middle + tail, ("nothing", f"{head}*{tail}"))


@pytest.mark.parametrize("pattern", ["a?", "[ab]b", "a.", "A*"])
def test_no_other_character_is_a_wildcard(pattern: str) -> None:
    assert not partition_matches("ab", (pattern,))
