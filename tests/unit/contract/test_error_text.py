"""The block of lines that describes a failure."""

from dataclasses import replace

from hudi_table_services.contract.error_text import Failure

FAILURE = Failure(
    kind="InvalidRequestError",
    message="The source has no column 'idd', which is the record key field.",
    hint="Did you mean 'id'? Its columns are: id, name, price, updated_at, created_at, deleted_at, source_system.",
    table="/data/lake/people",
    table_now="Nothing was written.",
    retry="Airflow does not try again.",
    page="http://localhost:8080/hudi/static/errors.html#invalidrequesterror",
)


def test_each_text_has_a_label_and_long_texts_are_wrapped() -> None:
    assert FAILURE.lines() == (
        "FAILED: InvalidRequestError",
        "  What happened The source has no column 'idd', which is the record key field.",
        "  What to do    Did you mean 'id'? Its columns are: id, name, price, updated_at, created_at, deleted_at,",
        "                source_system.",
        "  Table         /data/lake/people",
        "  Table now     Nothing was written.",
        "  Next try      Airflow does not try again.",
        "  More          http://localhost:8080/hudi/static/errors.html#invalidrequesterror",
    )


def test_empty_texts_have_no_line() -> None:
    lines = replace(FAILURE, kind="", hint="", retry="", page="").lines()
    assert [line.strip().split("  ")[0] for line in lines] == [
        "FAILED",
        lines[1].strip(),
        "Table",
        "Table now",
    ]


def test_paths_are_not_broken() -> None:
    path = "s3://lake/" + "-".join(["folder"] * 40)
    assert any(path in line for line in replace(FAILURE, message=f"There is no file {path}.").lines())


def test_commands_stay_on_one_line() -> None:
    command = "airflow connections add " + " ".join(['--conn-extra \'{"key": "value"}\''] * 5)
    lines = replace(FAILURE, hint=f"Create the connection with this line:\n{command}").lines(width=40)
    assert any(line.strip() == command for line in lines)
