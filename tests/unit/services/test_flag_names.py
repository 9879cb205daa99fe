"""Errors name the flags that the user typed, with the key of the option in parentheses."""

import pytest

from hudi_table_services import cli
from hudi_table_services.errors import InvalidRequestError, StorageError
from hudi_table_services.services.archival import ARCHIVE
from hudi_table_services.services.cleaning import CLEAN
from hudi_table_services.services.clustering import CANCEL_CLUSTERING
from hudi_table_services.services.flag_names import naming_flags
from hudi_table_services.services.recovery import RESTORE, ROLLBACK
from hudi_table_services.services.savepoints import DELETE_SAVEPOINT

KEY = "hoodie.clean.commits.retained"
FLAGS = {"commits_retained": "--commits-retained", "policy": "--policy"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{KEY}=0 is too small.", f"--commits-retained=0 ({KEY}) is too small."),
        (f"Option {KEY} is '5'.", f"--commits-retained ({KEY}) is '5'."),
        (f"Set --commits-retained ({KEY}).", f"Set --commits-retained ({KEY})."),
        (f"{KEY}.more is unknown: {KEY}.", f"{KEY}.more is unknown: --commits-retained ({KEY})."),
        ("commits_retained is 0, below 1.", "--commits-retained is 0, below 1."),
        ("Remove commits_retained (--commits-retained).", "Remove --commits-retained."),
        ("policy is 'x'. A policy is a word.", "--policy is 'x'. A policy is a word."),
        ("The file '/t/commits_retained' is lost.", "The file '/t/commits_retained' is lost."),
        ("hoodie.clean.hours.retained=0", "hoodie.clean.hours.retained=0"),
    ],
)
def test_a_text_names_the_flags_that_the_user_typed(text: str, shown: str) -> None:
    named = naming_flags(InvalidRequestError(text, hint=text), FLAGS, ())
    assert (named.message, named.hint) == (shown, shown)


def test_a_source_option_is_shown_as_a_flag_if_the_user_typed_flags_of_the_source() -> None:
    error = InvalidRequestError("The file has no header.", hint="Set the source option header=true.")
    assert (
        naming_flags(error, {"source_path": "--source-path"}, ()).hint == "Set --source-option header=true."
    )
    assert naming_flags(error, FLAGS, ()) is error


def test_a_key_that_the_user_typed_stays() -> None:
    error = InvalidRequestError(f"{KEY}=0 is too small.")
    assert naming_flags(error, FLAGS, (KEY,)) is error


def test_the_class_and_the_path_of_an_error_stay() -> None:
    named = naming_flags(StorageError(f"{KEY} is wrong.", path="a/b"), FLAGS, ())
    assert (type(named), named.path) == (StorageError, "a/b")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--commits-retained=0"], "--commits-retained is 0, below 1. Give a number of at least 1."),
        (
            ["--commits-retained=few"],
            "--commits-retained is 'few', not a whole number. Give a whole number, as in --commits-retained 3.",
        ),
        (
            ["--retain-commits=3", "--retain-hours=3"],
            "Did you mean --commits-retained? Did you mean --hours-retained?",
        ),
        (
            ["--commits-retained=3", f"--option={KEY}=4"],
            f"--commits-retained is '3', but its option {KEY} is '4'. Give either --commits-retained or the option.",
        ),
    ],
)
def test_a_script_names_its_flags(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(CLEAN, ["--base-path=/t", *flags]) == 64
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "missing"),
    [
        (RESTORE, "--savepoint"),
        (DELETE_SAVEPOINT, "--instant"),
        (ROLLBACK, "--instant (or --all-failed)"),
        (CANCEL_CLUSTERING, "--instant (or --older-than-minutes)"),
    ],
    ids=lambda each: getattr(each, "file_name", ""),
)
def test_one_error_names_all_missing_flags(script: object, missing: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        script.parse([])  # type: ignore[attr-defined]
    assert refused.value.message == f"These flags are missing: --base-path, {missing}."
    with pytest.raises(InvalidRequestError) as refused:
        script.parse(["--base-path=/t"])  # type: ignore[attr-defined]
    assert missing.split(" (or ")[0] in str(refused.value)


@pytest.mark.parametrize(
    ("script", "flag", "meant"),
    [
        (CLEAN, "--retain-commits", "--commits-retained"),
        (ARCHIVE, "--keep-min", "--min-commits"),
    ],
)
def test_a_flag_with_the_words_of_another_flag_is_recognized(script: object, flag: str, meant: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"Did you mean {meant}"):
        script.parse(["--base-path=/t", flag, "1"])  # type: ignore[attr-defined]
