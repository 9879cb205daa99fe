"""The records that describe a table service and its scripts."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from hudi_table_services.contract.report import Report
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.services.flags import (
    EXIT_CODES,
    CommandLine,
    add_run_flags,
    command_line_of,
    new_parser,
    refuse_missing_flags,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_table_services.storage.stores.storage import Storage

RequestT = TypeVar("RequestT", bound=JobRequest)
RequestT_co = TypeVar("RequestT_co", bound=JobRequest, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script(Generic[RequestT_co]):
    """One job script: its flags, its request and its job. Use `MetadataScript`, `SparkScript` or `OptionalSparkScript`.

    Attributes:
        file_name: file name of the script, such as ``clean.py``.
        request_type: class of the request that flags and request documents describe.
        description, examples: parts of the text of ``--help``. In `examples`, ``{program}`` is the name of the program.
        exit_codes: last part of the text of ``--help``.
        add_flags: adds the flags of the script to its parser. A flag stores its value under the name of a field of
            the request, see `flags`.
        check_options: refuses invalid options. It needs no Spark and does not read the table.
        build_request: builds the request from the given flags. None means that each flag is a field of the request.
        needed_flags: returns, for the given flags, groups of fields besides the base path; one field of each group must
            be given.
        advice_on_flags: advice if several flags are missing.
        check_run: refuses a request that lacks fields. Such a request is valid only as an argument of the engine's
            Python functions, which accept further arguments.
        before_spark: does the part of the job that needs no Spark; see `start_without_spark`.
        metric: name of the job in metrics and lineage; empty means the file name without ``.py``.
        command: name of the job as a sub-command of ``hudi-services``; empty means the file name without ``.py``, with
            dashes.
    """

    needs_spark: ClassVar[bool] = False
    """Whether the job needs a Spark session."""

    file_name: str
    request_type: type[RequestT_co]
    description: str
    examples: str
    exit_codes: str = EXIT_CODES
    add_flags: Callable[[argparse.ArgumentParser], None]
    check_options: Callable[[RequestT_co], object]
    build_request: Callable[[dict[str, Any]], RequestT_co] | None = None
    needed_flags: Callable[[Mapping[str, Any]], Sequence[Sequence[str]]] = lambda flags: ()
    advice_on_flags: str = ""
    check_run: Callable[[RequestT_co], None] | None = None
    before_spark: "Callable[[RequestT_co, bool], JobResult | None] | None" = None
    metric: str = ""
    command: str = ""

    @property
    def command_name(self) -> str:
        """Return the name of the sub-command of ``hudi-services``, such as ``check-config``."""
        return self.command or self.file_name.removesuffix(".py").replace("_", "-")

    @property
    def metric_name(self) -> str:
        """Return the name of the job in metrics and lineage, such as ``clean``."""
        return self.metric or self.file_name.removesuffix(".py")

    def uses_spark(self, request: JobRequest) -> bool:
        """Whether the job of this request needs a Spark session."""
        return self.needs_spark

    def parser(self, program: str = "", examples: str = "") -> argparse.ArgumentParser:
        """Create the parser of the script's flags. The result of parsing lacks flags that are not given.

        Args:
            program: name of the program in the help; empty means the file name of the script.
            examples: examples in the help; empty means the examples of the script.
        """
        name = program or self.file_name
        shown = examples or self.examples.replace("{program}", name)
        parser = new_parser(name, self.description, shown + self.exit_codes)
        self.add_flags(parser)
        add_run_flags(parser.add_argument_group("run"))
        return parser

    def parse(self, arguments: Sequence[str] | None = None) -> CommandLine:
        """Read the flags. ``--help`` prints the help and ends the process.

        Args:
            arguments: command-line arguments without the program name; None means the arguments of this process.

        Raises:
            InvalidRequestError: a flag is unknown, has no value or contradicts another flag.
        """
        parser = self.parser()
        return self.command_line(parser, parser.parse_args(arguments))

    def command_line(self, parser: argparse.ArgumentParser, flags: argparse.Namespace) -> CommandLine:
        """Convert parsed flags to a request; see `command_line_of`."""
        given = vars(flags)
        if "request" not in given:
            table = [("base_path",)] if self.request_type.needs_base_path else []
            needed = [*table, *self.needed_flags(given)]
            refuse_missing_flags(parser, given, needed, advice=self.advice_on_flags)
        return command_line_of(parser, self._request_of, given)

    def _request_of(self, flags: dict[str, Any]) -> RequestT_co:
        if self.build_request is not None:
            return self.build_request(flags)
        return self.request_type(**{"base_path": "", **flags})

    def read(self, text: str) -> RequestT_co:
        """Parse a request document. Raises InvalidRequestError with the name of a wrong or unknown field."""
        return self.request_type.from_json(text)

    def check(self, request: JobRequest) -> None:
        """Refuse invalid options, without Spark and without reading the table. Raises InvalidRequestError."""
        self.check_options(self._own(request))

    def check_before_run(self, request: JobRequest) -> None:
        """Refuse a request that is complete only with further arguments of the engine's Python functions."""
        if self.check_run is not None:
            self.check_run(self._own(request))

    def start_without_spark(self, request: JobRequest, *, sees_local_files: bool = True) -> JobResult | None:
        """Do the part of a job that needs no Spark, in about a second, so that Spark does not start without need.

        Args:
            sees_local_files: whether Spark reads paths without scheme from the file system of this process.

        Returns:
            The result if the job has nothing left to do. None means that `run` must follow.

        Raises:
            HudiTableServiceError: the job would fail with the same error.
            ModuleNotFoundError: this process lacks a package of the engine.
        """
        if self.before_spark is None:
            return None
        result = self.before_spark(self._own(request), sees_local_files)
        return None if result is None else _with_table_name(result, request, None)

    def run(
        self, spark: "SparkSession | None", request: JobRequest, *, storage: "Storage | None" = None
    ) -> JobResult:
        """Run the job.

        Args:
            spark: the Spark session; may be None unless the script `needs_spark`.
            request: the request; it must have the script's request type.
            storage: storage of the table; None means that the job opens the base path of the request.

        Raises:
            HudiTableServiceError: the job failed; see `errors` for the classes.
            TypeError: the request belongs to another script, or the session is missing.
        """
        raise NotImplementedError

    def _own(self, request: JobRequest) -> Any:
        """Return the request if it has this script's type; else raise TypeError."""
        if not isinstance(request, self.request_type):
            raise TypeError(
                f"{self.file_name} needs a request of type {self.request_type.__name__}, not {type(request).__name__}."
            )
        return request


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataScript(Script[RequestT]):
    """A script whose job reads and writes metadata only. The job needs no Spark and runs in any Python process.

    Attributes:
        job: imports the job and calls it. The function contains the import, so that the script itself imports quickly.
    """

    job: "Callable[[RequestT, Storage | None], JobResult]"

    def run(
        self, spark: "SparkSession | None", request: JobRequest, *, storage: "Storage | None" = None
    ) -> JobResult:
        return _with_table_name(self.job(self._own(request), storage), request, storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkScript(Script[RequestT]):
    """A script whose job needs a Spark session.

    Attributes:
        job: imports the job and calls it. The function contains the import, so that the script itself imports quickly.
    """

    needs_spark: ClassVar[bool] = True

    job: "Callable[[SparkSession, RequestT, Storage | None], JobResult]"

    def run(
        self, spark: "SparkSession | None", request: JobRequest, *, storage: "Storage | None" = None
    ) -> JobResult:
        if spark is None:
            raise TypeError(f"{self.file_name} needs a Spark session.")
        return _with_table_name(self.job(spark, self._own(request), storage), request, storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalSparkScript(Script[RequestT]):
    """A script whose job needs a Spark session for some requests only. For other requests, a session is optional.

    Attributes:
        job: imports the job and calls it. The function contains the import, so that the script itself imports quickly.
        wants_spark: whether the job of a request needs a session.
    """

    job: "Callable[[SparkSession | None, RequestT, Storage | None], JobResult]"
    wants_spark: Callable[[RequestT], bool]

    def uses_spark(self, request: JobRequest) -> bool:
        return self.wants_spark(self._own(request))

    def run(
        self, spark: "SparkSession | None", request: JobRequest, *, storage: "Storage | None" = None
    ) -> JobResult:
        return _with_table_name(self.job(spark, self._own(request), storage), request, storage)


def _with_table_name(result: JobResult, request: JobRequest, storage: "Storage | None") -> JobResult:
    """Add the name of the table to the result if the request, and thus the job, left the name out."""
    from hudi_table_services.storage.stores.factory import open_storage
    from hudi_table_services.storage.table_store import find_table_config

    if result.table_name or not request.base_path:
        return result
    try:
        config = find_table_config(storage or open_storage(request.base_path, request.storage_options))
    except HudiTableServiceError:  # the work is done; only the name is unknown
        return result
    return result if config is None else replace(result, table_name=config.table_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One table service. `registry.SERVICES` contains all services.

    Attributes:
        name: noun of the service; its modules have this name in every layer.
        scripts: the scripts of the service, at least one.
        report: report class of the service's results; None if its results contain no report.
    """

    name: str
    scripts: tuple[Script[JobRequest], ...]
    report: type[Report] | None
