"""Options of streams become limits and options of the incremental read of each batch."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import HolesPolicy
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.options.reading.read_options import read_request
from hudi_table_services.options.reading.stream_options import stream_request

START = "hoodie.datasource.streaming.startOffset"
COMMITS, BYTES = "hoodie.airflow.stream.commits.per.batch", "hoodie.airflow.stream.bytes.per.batch"
QUERY = "hoodie.datasource.query.type"
HOLES = "hoodie.read.timeline.holes.resolution.policy"


def test_without_options_a_stream_begins_with_the_first_commit_and_has_no_limits() -> None:
    request = stream_request({})
    assert request.start == "earliest"
    assert request.limits == BatchLimits()
    assert not request.limits.are_set
    assert request.holes is HolesPolicy.BLOCK


def test_all_options_become_fields_of_the_request() -> None:
    request = stream_request({START: "latest", COMMITS: "3", BYTES: "1000", HOLES: "FAIL"})
    assert request.start == "latest"
    assert request.limits == BatchLimits(commits=3, size_bytes=1000)
    assert request.holes is HolesPolicy.FAIL


@pytest.mark.parametrize("query_type", ["snapshot", "INCREMENTAL", ""])
def test_each_batch_is_an_incremental_read(query_type: str) -> None:
    request = stream_request({QUERY: query_type, "hoodie.enable.data.skipping": "false"})
    query = read_request(request.options_of("1", "2")).query
    assert (query.query_type.value, query.begin, query.end) == ("incremental", "1", "2")
    assert not query.skips_files


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({QUERY: "read_optimized"}, "read_optimized is not supported for streams"),
        ({"hoodie.datasource.view.type": "read_optimized"}, "view.type=read_optimized is not supported"),
        ({QUERY: "cdc"}, f"{QUERY}=cdc is not supported"),
        ({"as.of.instant": "20260101000000000"}, "as.of.instant has no meaning for a stream"),
        (
            {"hoodie.datasource.read.begin.instanttime": "000"},
            "begin.instanttime has no meaning for a stream",
        ),
        ({"hoodie.datasource.read.end.instanttime": "1"}, "end.instanttime has no meaning for a stream"),
        ({COMMITS: "0"}, f"{COMMITS}=0 is too small"),
        ({BYTES: "many"}, f"{BYTES}=many is not a whole number"),
        ({"hoodie.datasource.query.incremental.format": "cdc"}, "latest_state"),
        ({"hoodie.nonsense": "1"}, "Unknown option hoodie.nonsense"),
    ],
)
def test_other_options_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        stream_request(options)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", [START, COMMITS, BYTES])
def test_options_of_streams_are_refused_by_other_reads(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="has an effect only on streams"):
        read_request({name: "1"})
