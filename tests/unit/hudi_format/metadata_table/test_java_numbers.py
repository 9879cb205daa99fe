"""Strings for floating-point numbers equal those of Java. The expected strings are the output of Java 17."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.metadata_table.java_numbers import java_texts


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (0.0, ("0.0",)),
        (-0.0, ("-0.0",)),
        (1.0, ("1.0",)),
        (-1.5, ("-1.5",)),
        (100.0, ("100.0",)),
        (0.001, ("0.001",)),
        (0.002, ("0.002",)),
        (0.00099, ("9.9E-4",)),
        (9999999.0, ("9999999.0",)),
        (1e7, ("1.0E7",)),
        (123456789.0, ("1.23456789E8",)),
        (1e10, ("1.0E10",)),
        (math.nan, ("NaN",)),
        (math.inf, ("Infinity",)),
        (-math.inf, ("-Infinity",)),
        (5e-324, ("4.9E-324",)),
        (1.7976931348623157e308, ("1.7976931348623157E308",)),
        (2e23, ("2.0E23", "1.9999999999999998E23")),
        (1e23, ("1.0E23", "9.999999999999999E22")),
        (2.0**60, ("1.152921504606847E18", "1.15292150460684698E18")),
    ],
)
def test_doubles_have_the_texts_of_java(value: float, texts: tuple[str, ...]) -> None:
    assert java_texts(value) == texts


@pytest.mark.parametrize(("value", "text"), [(0.1, "0.1"), (1.1, "1.1"), (16777216.0, "1.6777216E7")])
def test_floats_have_the_text_of_java(value: float, text: str) -> None:
    (single,) = struct.unpack(">f", struct.pack(">f", value))
    assert java_texts(single, is_single=True)[0] == text


@given(st.floats(allow_nan=False))
def test_every_text_of_a_double_is_parsed_to_the_same_double(value: float) -> None:
    assert {float(text) for text in java_texts(value)} == {value}


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_text_of_a_float_is_parsed_to_the_same_float(value: float) -> None:
    for text in java_texts(value, is_single=True):
        assert struct.unpack(">f", struct.pack(">f", float(text)))[0] == value
