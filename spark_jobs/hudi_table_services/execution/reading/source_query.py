"""Run the source query of a load over the rows of a DataFrame instead of the rows of source files."""

import io
import re
import uuid
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from hudi_table_services.errors import ExecutionFailedError, InvalidRequestError
from hudi_table_services.execution.sources.source import (
    SOURCE_VIEW,
    first_line,
    invalid_query,
    is_user_error,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COMBINES_ROWS = re.compile(
    r"(Aggregate|Window|GlobalLimit|LocalLimit|Offset|Distinct|Deduplicate|Except|Intersect|Sample)\b"
)
_MAY_READ_TWICE = re.compile(r"(Union|WithCTE|CTERelationDef)\b")
"""Matches steps that may have several inputs with rows of the source, because such a step does not combine a row of one
input with a row of another."""

_STEP = re.compile(r"\w+")
_CTE = re.compile(r"CTERelationDef (\d+)")
_TREE = re.compile(r"[\s:+-]*")


def query_rows(spark: "SparkSession", rows: "DataFrame", sql: str, *, row_by_row: bool) -> "DataFrame":
    """Return the result of a query over rows that the query calls ``source``.

    Several queries over different rows can be open in one session.

    Args:
        row_by_row: refuse a query whose result for one row depends on the other rows.

    Raises:
        InvalidRequestError: the query cannot be run, or combines rows although `row_by_row` is set.
        ExecutionFailedError: Spark failed.
    """
    # Spark Connect resolves the name of a view later, so each frame needs a view of its own.
    view = f"{SOURCE_VIEW}_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        found = spark.sql(
            f"WITH {SOURCE_VIEW} AS (SELECT * FROM {view}) (\n{sql.strip().rstrip(';')}\n)"  # noqa: S608
        )
        combining = _combining_step(found, view) if row_by_row else ""
    except Exception as error:
        if not is_user_error(error):
            raise ExecutionFailedError(
                f"Running the source query failed: {first_line(error).rstrip('.')}.",
                hint="Nothing was written; run the request again.",
            ) from error
        raise invalid_query(error) from error
    if combining:
        raise InvalidRequestError(
            f"The source query (--source-sql) combines rows of the source ({combining}), but in the mode incremental "
            "the source contains only the changed rows, so the results would be wrong.",
            hint="For aggregates, use the mode changed_groups (--source-mode changed_groups). Otherwise, convert each "
            "row on its own.",
        )
    return found


def _combining_step(frame: "DataFrame", view: str) -> str:
    """Return the name of a step of the analyzed plan that combines rows of the view; empty if there is none."""
    output = io.StringIO()
    with redirect_stdout(output):
        frame.explain(mode="extended")
    analyzed = output.getvalue().partition("== Analyzed Logical Plan ==")[2].partition("== Optimized")[0]
    lines = analyzed.splitlines()
    of_source = _lines_of_source(lines, view)
    twice = ""
    for number, line in enumerate(lines):
        name = line[_depth(line) :]
        step = _COMBINES_ROWS.match(name)
        if step is not None and not of_source.isdisjoint(_below(lines, number)):
            return step[1]
        inputs = sum(not of_source.isdisjoint(each) for each in _inputs(lines, number))
        if inputs > 1 and not _MAY_READ_TWICE.match(name):
            found = _STEP.match(name)
            twice = twice or f"{found[0] if found else 'a step'} of the source with itself"
    return twice


def _lines_of_source(lines: Sequence[str], view: str) -> set[int]:
    """Return the numbers of the lines that read the view, also through common table expressions."""
    found = {number for number, line in enumerate(lines) if view in line}
    for number, line in enumerate(lines):  # Spark lists each expression before those that refer to it
        defined = _CTE.match(line[_depth(line) :])
        if defined is not None and not found.isdisjoint(_below(lines, number)):
            reference = f"CTERelationRef {defined[1]},"
            found.update(other for other, each in enumerate(lines) if reference in each)
    return found


def _below(lines: Sequence[str], number: int) -> list[int]:
    """Return the numbers of the lines below a line in the tree of the plan: the steps whose results this step uses."""
    depth, found = _depth(lines[number]), []
    for other in range(number + 1, len(lines)):
        if _depth(lines[other]) <= depth:
            break
        found.append(other)
    return found


def _inputs(lines: Sequence[str], number: int) -> list[list[int]]:
    """Return the numbers of the lines of each input of a step: the line of the input, and all lines below that line.

    Spark lists the subqueries of a step before the other inputs of the step, and indents the subqueries more.
    """
    left, found = _below(lines, number), []
    while left:
        each = [left[0], *_below(lines, left[0])]
        found.append(each)
        left = left[len(each) :]
    return found


def _depth(line: str) -> int:
    found = _TREE.match(line)
    return found.end() if found is not None else 0
