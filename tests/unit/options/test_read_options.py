"""Hudi's read options become a query, or an error that names the option."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import HolesPolicy, QueryType, TableQuery
from hudi_table_services.options.reading.read_options import read_request

BEGIN = "hoodie.datasource.read.begin.instanttime"
INCREMENTAL = {"hoodie.datasource.query.type": "INCREMENTAL", BEGIN: "000"}


def test_without_options_the_latest_state_is_read() -> None:
    assert read_request({}).query == TableQuery()


def test_all_options_become_fields_of_the_query() -> None:
    options = {
        **INCREMENTAL,
        "hoodie.datasource.read.end.instanttime": "20260101000000000",
        "hoodie.datasource.read.incr.fallback.fulltablescan.enable": "true",
        "hoodie.read.timeline.holes.resolution.policy": "block",
        "hoodie.enable.data.skipping": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.query.incremental.format": "latest_state",
    }
    query = read_request(options, columns=["a", "b", "a"]).query
    assert query == TableQuery(
        query_type=QueryType.INCREMENTAL,
        begin="000",
        end="20260101000000000",
        holes=HolesPolicy.BLOCK,
        scans_table_if_incomplete=True,
        columns=("a", "b"),
        skips_files=False,
        metadata_enable=False,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hoodie.datasource.query.type": "cdc"}, "hoodie.datasource.query.type=cdc is not supported"),
        ({**INCREMENTAL, "hoodie.datasource.query.incremental.format": "cdc"}, "latest_state"),
        ({**INCREMENTAL, "hoodie.datasource.read.incr.path.glob": "a/*"}, "path.glob"),
        ({"hoodie.datasource.merge.type": "skip_merge"}, "a snapshot read merges log files"),
        (
            {"hoodie.datasource.read.extract.partition.values.from.path": "true"},
            "are read from the data files",
        ),
        ({"hoodie.query.as.ro.table": "true"}, "set hoodie.datasource.query.type=read_optimized"),
        ({**INCREMENTAL, "hoodie.read.timeline.holes.resolution.policy": "USE_TRANSITION_TIME"}, "holes"),
        ({**INCREMENTAL, "as.of.instant": "20260101000000000"}, "as.of.instant has no meaning"),
        ({"hoodie.datasource.query.type": "incremental"}, f"needs {BEGIN}"),
        ({BEGIN: "000"}, f"{BEGIN} has no effect"),
        ({"hoodie.datasource.query.typ": "snapshot", "as.of.instnat": "1"}, "Unknown option as.of.instnat"),
        ({"hoodie.enable.data.skipping": "maybe"}, "neither true nor false"),
    ],
)
def test_other_options_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_request(options)
    assert words in str(caught.value)


@pytest.mark.parametrize("columns", [[], "abc"])
def test_columns_are_a_list_of_names(columns: list[str]) -> None:
    with pytest.raises(InvalidRequestError, match="is not a list of names"):
        read_request({}, columns=columns)


def test_options_of_writes_cause_a_warning() -> None:
    (warning,) = read_request({"hoodie.parquet.max.file.size": "1"}).warnings
    assert warning == "hoodie.parquet.max.file.size has no effect here: it is for writes."


def test_defaults_of_unsupported_options_are_accepted() -> None:
    defaults = {
        "hoodie.datasource.merge.type": "payload_combine",
        "hoodie.datasource.query.incremental.format": "latest_state",
        "hoodie.realtime.merge.skip": "false",
    }
    assert read_request(defaults) == read_request({})


def test_the_older_name_of_the_query_type_is_accepted() -> None:
    query = read_request({"hoodie.datasource.view.type": "read_optimized"}).query
    assert query.query_type is QueryType.READ_OPTIMIZED


def test_settings_of_the_merge_rule_are_kept() -> None:
    settings = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
    assert read_request(settings).merge_settings == settings
