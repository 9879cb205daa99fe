"""Read and write files of Java properties (java.util.Properties, load and store of a byte stream)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache

from hudi_table_services.errors import MalformedMetadataError

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|[^u]|u|$)", re.DOTALL)
_PAIR = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_PLAIN = re.compile(r"[\w.,/+*-]*", re.ASCII)
_LOADED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_STORED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", **{sign: f"\\{sign}" for sign in ":=#!\\"}}


def load_properties(data: bytes, what: str) -> dict[str, str]:
    r"""Return the key-value pairs of a properties file. If a key is repeated, its last value applies.

    Args:
        data: ISO 8859-1 text.
        what: kind of the file, for error messages.

    Raises:
        MalformedMetadataError: the text has a ``\u`` without four hexadecimal digits, or half of a surrogate pair.
    """
    return dict(_pairs(data, what))


@lru_cache(maxsize=32)  # a job reads the same properties many times
def _pairs(data: bytes, what: str) -> Mapping[str, str]:
    pairs = {}
    for line in _logical_lines(data.decode("latin-1")):
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise MalformedMetadataError(f"{what}: {line[:80]!r} is not a key-value pair.")
        pairs[_unescape(pair["key"], what)] = _unescape(pair["value"], what)
    return pairs


def store_properties(properties: Mapping[str, str], comments: Sequence[str]) -> bytes:
    """Return the content of a properties file: comment lines, then the pairs in their order."""
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{_escape_key(key)}={_escape_value(value)}" for key, value in properties.items()]
    return "".join(f"{line}\n" for line in lines).encode("latin-1")


def java_date(moment: datetime) -> str:
    """Return the date comment of a stored file, in UTC, e.g. ``Sat Nov 21 08:14:20 UTC 2026``."""
    utc = moment.astimezone(timezone.utc)
    # strftime is not used, because names of days and months must not depend on the locale.
    return f"{_DAYS[utc.weekday()]} {_MONTHS[utc.month - 1]} {utc:%d %H:%M:%S} UTC {utc:%Y}"


def _logical_lines(text: str) -> list[str]:
    """Return the logical lines, without comments and blank lines.

    A logical line continues after a line that ends with an odd number of backslashes.
    """
    lines: list[str] = []
    pieces: list[str] = []  # joined only at the end of the logical line, because it may have very many pieces
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANKS)
        if not pieces and (not line or line[0] in "#!"):
            continue
        continues = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if continues:
            pieces += [line[:-1]] if line != "\\" else []
        else:
            lines.append("".join([*pieces, line]))
            pieces = []
    return [*lines, "".join(pieces)] if pieces else lines


def _unescape(text: str, what: str) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        escaped = match[1]
        if escaped == "u":
            raise MalformedMetadataError(f"{what}: a \\u without four hexadecimal digits in {text[:80]!r}.")
        if len(escaped) == 5:
            return chr(int(escaped[1:], 16))
        return _LOADED.get(escaped, escaped)

    loaded = _ESCAPE.sub(character, text)
    try:
        # Java's characters are UTF-16 units: two escapes may encode one character.
        return loaded.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise MalformedMetadataError(f"{what}: half a surrogate pair in {text[:80]!r}.") from None


def _escape_key(key: str) -> str:
    if _PLAIN.fullmatch(key):
        return key
    return "".join("\\ " if sign == " " else _escape(sign) for sign in key)


def _escape_value(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    blank = "\\" if value.startswith(" ") else ""
    return blank + "".join(map(_escape, value))


def _escape(sign: str) -> str:
    stored = _STORED.get(sign)
    if stored is not None:
        return stored
    if " " <= sign <= "~":
        return sign
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
