"""Recognize the JSON that pandas writes by default: one object with the values of each column."""

import json
import re
from itertools import count

_STRING = r'"(?:[^"\\]|\\.)*"'
_FIRST_NAME = re.compile(rf"\s*\{{\s*{_STRING}\s*:\s*(?=\{{)")
"""Matches the text before the value of the first member, if this value is an object."""
_SECOND_COLUMN = re.compile(rf'\s*,\s*{_STRING}\s*:\s*\{{\s*"0"\s*:')
"""Matches a second member that is an object with the first key "0"."""
_NAME = re.compile(rf"\s*({_STRING})\s*:\s*")
_SPACE = re.compile(r"\s*")
_LINE_BREAK = re.compile(r"[\r\n]")
_FEWEST_KEYS = 2


def is_object_of_columns(text: str, *, is_cut: bool) -> bool:
    """Whether a text is one object of objects that all have the keys "0", "1", …; False if this is not certain.

    A single member of this form can be a row with one nested value, so a complete text needs two members. Of a cut
    text, the function examines the first member and the beginning of the second member.

    Args:
        is_cut: whether the text is only the beginning of a file.
    """
    if is_cut:
        return _begins_with_columns(text)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    columns = list(document.values()) if isinstance(document, dict) else []
    if len(columns) < 2 or not isinstance(columns[0], dict) or not columns[0]:
        return False
    keys = [str(number) for number in range(len(columns[0]))]
    return all(isinstance(column, dict) and list(column) == keys for column in columns)


def _begins_with_columns(text: str) -> bool:
    """Whether the first two members are such columns, or a text without line break ends within the first of them."""
    first_line, *others = _LINE_BREAK.split(text.lstrip(), maxsplit=1)
    if others and first_line.strip() != "{":
        return False  # each line is a document
    name = _FIRST_NAME.match(text)
    end = _end_of_column(text, name.end()) if name is not None else None
    if end is None:
        return False
    return not others if end == len(text) else _SECOND_COLUMN.match(text, end) is not None


def _end_of_column(text: str, start: int) -> int | None:
    """Return the end of an object with the keys "0", "1", …; None if the object has other keys.

    Returns:
        The length of the text if the text ends within the object, after at least two keys.
    """
    decode = json.JSONDecoder(strict=False).raw_decode
    position = start
    for number in count():
        name = _NAME.match(text, position + 1)
        if name is not None and name[1] != f'"{number}"':
            return None
        try:
            end = decode(text, name.end())[1] if name is not None else len(text)
        except (ValueError, RecursionError):
            end = len(text)
        position = _end_of_space(text, end)
        if position == len(text):
            return position if number >= _FEWEST_KEYS else None
        if text[position] == "}":
            return position + 1
        if text[position] != ",":
            return None
    return None


def _end_of_space(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space is not None else start
