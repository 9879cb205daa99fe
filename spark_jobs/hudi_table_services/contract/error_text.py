"""The text of a failure for users, as a block of lines: what happened, which table is concerned, and what to do."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TEXT_WIDTH = 100
"""Width of the texts in a block, in characters."""

_LABEL_WIDTH = 14
_COMMANDS = ("airflow ", "export ", "hudi-services ", "pip install ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed job, described for users.

    Attributes:
        kind: class name of the error; empty if the error has no class of this package.
        message: what happened, with the name of the object.
        hint: what to do; may be empty.
        table: base path of the table.
        table_now: a sentence about what the table contains now, such as "Nothing was written."
        retry: a sentence that says whether another try follows, or may succeed; may be empty.
        page: address of the page about this kind of error; may be empty.
    """

    kind: str
    message: str
    hint: str
    table: str
    table_now: str
    retry: str = ""
    page: str = ""

    def lines(self, *, width: int = TEXT_WIDTH) -> tuple[str, ...]:
        """Return the block: a heading, and one wrapped paragraph for each text that is not empty.

        Args:
            width: width of the texts beside the labels, in characters. Longer words, such as paths, are not broken.
                Lines with a shell command are not wrapped.
        """
        heading = f"FAILED: {self.kind}" if self.kind else "FAILED"
        paragraphs = (
            ("What happened", self.message),
            ("What to do", self.hint),
            ("Table", self.table),
            ("Table now", self.table_now),
            ("Next try", self.retry),
            ("More", self.page),
        )
        return (heading, *(line for label, text in paragraphs for line in _paragraph(label, text, width)))


def _paragraph(label: str, text: str, width: int) -> Iterator[str]:
    for number, line in enumerate(_wrapped(text, width)):
        yield f"  {label if number == 0 else '':<{_LABEL_WIDTH}}{line}"


def _wrapped(text: str, width: int) -> Sequence[str]:
    return [line for part in text.strip().splitlines() for line in _lines_of(part, width)]


def _lines_of(part: str, width: int) -> Sequence[str]:
    if part.startswith(_COMMANDS):
        return [part]
    return textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
