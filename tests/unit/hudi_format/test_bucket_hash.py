"""Buckets that are computed for a whole column of keys equal those of a computation that follows Java key by key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.bucket_hash import AMBIGUOUS, BucketHash
from hudi_table_services.hudi_format.bucket_ids import bucket_number, with_bucket_number
from hudi_table_services.hudi_format.java_strings import hash_of_list, hash_of_string
from hudi_table_services.hudi_format.key_parts import KeyParser

BOTH = (KeyParser.HUDI_0_15, KeyParser.HUDI_1_2)
LETTERS = st.text("ab:,_é\U0001f600", max_size=8)
VALUES = st.sampled_from(["__null__", "__empty__", "__null__x", "10:30"]) | LETTERS


def buckets_of(rule: BucketHash, keys: list[str], before: bytes = b"") -> list[int]:
    encoded = [before, *(key.encode("utf-8", "surrogatepass") for key in keys)]
    offsets = np.cumsum([len(part) for part in encoded]).astype(np.int32)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return rule.buckets_of(offsets, data).tolist()


def java_hash(text: str) -> int:
    """``String.hashCode()`` as its documentation defines it, with signed 32-bit arithmetic."""
    units = [
        int.from_bytes(text.encode("utf-16-be")[i : i + 2], "big") for i in range(0, _units(text) * 2, 2)
    ]
    total = sum(unit * 31 ** (len(units) - 1 - i) for i, unit in enumerate(units))
    return (total + 2**31) % 2**32 - 2**31


def _units(text: str) -> int:
    return len(text.encode("utf-16-be")) // 2


def java_bucket(parts: list[str | None], count: int) -> int:
    total = 1
    for part in parts:
        total = 31 * total + (0 if part is None else java_hash(part))
    return ((total + 2**31) % 2**32 - 2**31 & 0x7FFFFFFF) % count


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Aa", 2112),
        ("BB", 2112),
        ("polygenelubricants", -(2**31)),
        ("\u20ac", 0x20AC),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),
    ],
)
def test_strings_have_the_hash_codes_of_java(text: str, code: int) -> None:
    assert hash_of_string(text) == code & 0xFFFFFFFF
    assert java_hash(text) == code


def test_lists_have_the_hash_codes_of_java() -> None:
    assert hash_of_list([]) == 1
    assert hash_of_list(["a"]) == 31 + 97
    assert hash_of_list(["a", None, "hello"]) == (31 * (31 * (31 + 97)) + 99162322) & 0xFFFFFFFF


@given(
    st.lists(st.text(st.characters(exclude_characters=":", exclude_categories=("Cs",)))),
    st.integers(1, 300),
    st.binary(max_size=3),
)
def test_plain_keys_are_hashed_as_a_whole(keys: list[str], count: int, before: bytes) -> None:
    rule = BucketHash(bucket_count=count, hash_fields=("id",), parsers=BOTH)
    assert buckets_of(rule, keys, before) == [java_bucket([key], count) for key in keys]


@given(
    st.lists(st.tuples(*[VALUES] * 3)),
    st.integers(1, 300),
    st.lists(st.sampled_from(["a", "b.c", "d"]), min_size=1, unique=True),
)
def test_keys_that_name_fields_are_hashed_by_the_values_of_the_hash_fields(
    values: list[tuple[str, str, str]], count: int, fields: list[str]
) -> None:
    names = ("a", "b.c", "d")
    rule = BucketHash(bucket_count=count, hash_fields=tuple(fields), key_fields=names, parsers=BOTH)
    keys = [",".join(f"{n}:{v}" for n, v in zip(names, row, strict=True)) for row in values]
    found = buckets_of(rule, keys)
    assert found == [rule.bucket_of(key) for key in keys]
    stood_for: dict[str, str | None] = {"__null__": None, "__empty__": ""}
    for row, bucket in zip(values, found, strict=True):
        if not any("," in value for value in row):
            parts = [stood_for.get(v, v) for n, v in zip(names, row, strict=True) if n in fields]
            assert bucket == java_bucket(parts, count)


@given(st.lists(LETTERS), st.sampled_from([BOTH, BOTH[:1], BOTH[1:]]))
def test_a_key_has_the_bucket_that_all_parsers_find_or_is_ambiguous(
    keys: list[str], parsers: tuple[KeyParser, ...]
) -> None:
    rule = BucketHash(bucket_count=7, hash_fields=("a", "b"), parsers=parsers)
    expected = []
    for key in keys:
        found = {java_bucket(parser.hashed_parts(key, ("a", "b")), 7) for parser in parsers}
        expected.append(found.pop() if len(found) == 1 else AMBIGUOUS)
    assert buckets_of(rule, keys) == expected


@pytest.mark.parametrize(
    ("key", "in_0_15", "in_1_2"),
    [
        ("k1", ["k1"], ["k1"]),
        ("a,b", ["a,b"], ["a,b"]),
        ("2024-01-01 10:30", [], ["2024-01-01 10:30"]),
        ("id:1", ["1"], ["id:1"]),
        ("id:1,day:2", ["1"], ["1"]),
        ("day:2,id:1", ["1"], ["1"]),
        ("day:10:30,id:x:y", ["x:y"], ["x:y"]),
        ("id:__null__,day:2", [None], [None]),
        ("id:__empty__,day:2", [""], [""]),
        ("id:x,y,day:2", ["x", "y"], ["x,y"]),
        ("day:x,y,id:2", ["y", "2"], ["2"]),
        ("other:1,day:2", [], ["other:1,day:2"]),
    ],
)
def test_keys_are_parsed_as_in_each_release(
    key: str, in_0_15: list[str | None], in_1_2: list[str | None]
) -> None:
    assert KeyParser.HUDI_0_15.hashed_parts(key, ["id"]) == in_0_15
    assert KeyParser.HUDI_1_2.hashed_parts(key, ["id"]) == in_1_2


def test_a_key_that_the_releases_hash_to_different_buckets_is_ambiguous() -> None:
    fields = ("id",)
    assert buckets_of(BucketHash(bucket_count=100, hash_fields=fields, parsers=BOTH), ["10:30", "x"]) == [
        AMBIGUOUS,
        (31 + ord("x")) % 100,
    ]
    newer = BucketHash(bucket_count=100, hash_fields=fields)
    assert buckets_of(newer, ["10:30"]) == [java_bucket(["10:30"], 100)]


def test_file_ids_begin_with_the_number_of_the_bucket() -> None:
    file_id = with_bucket_number("b7a5ff2e-1111-2222-3333-444444444444-0", 42)
    assert file_id == "00000042-1111-2222-3333-444444444444-0"
    assert bucket_number(file_id) == 42
    assert bucket_number("b7a5ff2e-1111-2222-3333-444444444444-0") is None
