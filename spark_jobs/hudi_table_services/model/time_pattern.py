"""Date patterns of the timestamp-based key generator: the numeric part of Joda's DateTimeFormat.

Patterns with names of months or weekdays are refused, because Joda writes these names in the locale of the JVM.
"""

import re
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError

_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<literal>[^A-Za-z']+)")
_OUTPUT_LETTERS = "yMdHmsSD"
_INPUT_LETTERS = "yMdHmsSZ"


@dataclass(frozen=True, slots=True)
class PatternPart:
    """A sequence of the same pattern letter, or a literal string.

    Attributes:
        letter: pattern letter; ``""`` for a literal string.
        text: the literal string.
        width: how many times the letter occurs in the sequence. This is also the smallest number of digits.
    """

    letter: str
    text: str
    width: int


def parse_output_pattern(pattern: str) -> tuple[PatternPart, ...]:
    """Parse a pattern that formats a date.

    Raises:
        InvalidRequestError: the pattern contains a letter other than ``y M d H m s S D``, a month as a word, or a year
            that does not have four digits.
    """
    return _parse(pattern, _OUTPUT_LETTERS)


def parse_input_pattern(pattern: str) -> tuple[PatternPart, ...]:
    """Parse a pattern that reads a date from a string. ``Z`` is a zone offset.

    Raises:
        InvalidRequestError: the pattern contains a letter other than ``y M d H m s S Z``, a month as a word, or a year
            that does not have four digits.
    """
    return _parse(pattern, _INPUT_LETTERS)


def _parse(pattern: str, letters: str) -> tuple[PatternPart, ...]:
    parts: list[PatternPart] = []
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            raise _refused(pattern, pattern[position:], letters)
        position = token.end()
        parts.append(_part(token, pattern, letters))
    if not any(part.letter for part in parts):
        raise InvalidRequestError(f"The date pattern {pattern!r} contains no part of a date.")
    return tuple(parts)


def _part(token: re.Match[str], pattern: str, letters: str) -> PatternPart:
    run = token["letters"]
    if run is None:
        quoted = token["quoted"]
        # Two quotes stand for one quote, both inside and outside of quoted text.
        text = token["literal"] if quoted is None else quoted.replace("''", "'") or "'"
        return PatternPart("", text, len(text))
    letter = "y" if run[0] == "Y" else run[0]
    longest = {"y": 4, "S": 6, "D": 3}.get(letter, 2)
    if letter not in letters or len(run) > longest or (letter == "y" and len(run) != 4):
        raise _refused(pattern, run, letters)
    return PatternPart(letter, "", len(run))


def _refused(pattern: str, run: str, letters: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The date pattern {pattern!r} uses {run!r}, which is not supported.",
        hint=f"A pattern may contain yyyy, the numeric forms of {', '.join(letters[1:])}, and other text in single "
        "quotes.",
    )


def input_expression(pattern: str) -> str:
    """Return a regular expression (RE2 syntax, anchored) with one named group per letter of an input pattern.

    The expression is stricter than Joda: years have four digits, and parts next to other digits have exact widths.
    """
    parts = parse_input_pattern(pattern)
    pieces = []
    for part, following in zip(parts, (*parts[1:], PatternPart("", "", 0)), strict=True):
        pieces.append(_group(part, glued=following.letter not in ("", "Z")))
    names = [part.letter for part in parts if part.letter]
    if len(set(names)) < len(names):
        raise InvalidRequestError(f"The date pattern {pattern!r} contains a part of the date twice.")
    return f"^{''.join(pieces)}$"


def _group(part: PatternPart, *, glued: bool) -> str:
    match part.letter:
        case "":
            return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", part.text)
        case "Z":
            return r"(?P<Z>Z|[+-]\d{2}:?\d{2})"
        case "y":
            return r"(?P<y>\d{4})"
        case "S":
            return rf"(?P<S>\d{{{part.width}}})"
    digits = r"\d{2}" if glued else r"\d{1,2}"
    return f"(?P<{part.letter}>{digits})"
