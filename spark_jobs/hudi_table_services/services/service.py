"""What distinguishes one job script from another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.flags import CommandLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScript:
    """What one script does with its arguments.

    Attributes:
        parse: reads the flags.
        read: reads the request document.
        check: what can be refused without Spark and without looking at the table.
        run: carries the request out; the session is None where none is needed.
        needs_spark: whether requests cannot be carried out without a session.
        check_run: what a script has to be given that callers of the engine hand over otherwise.
    """

    parse: Callable[[Sequence[str] | None], CommandLine]
    read: Callable[[str], JobRequest]
    check: Callable[[Any], object]
    run: "Callable[[SparkSession | None, Any], JobResult]"
    needs_spark: bool = True
    check_run: Callable[[Any], None] | None = None
