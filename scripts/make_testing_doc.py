"""Write the seconds of the last whole ``make test`` or ``make test-all`` into the tables of docs/testing.md."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = ROOT / "build" / "test-times.json"
PAGE = ROOT / "docs" / "testing.md"
COMMANDS = {"sample": "make test", "all": "make test-all"}


def main() -> int:
    """Update the page. Return 1 if there is no record of a whole run."""
    if not TIMES.exists():
        print(f"There is no {TIMES.relative_to(ROOT)}: run `make test` or `make test-all` first.")
        return 1
    times = json.loads(TIMES.read_text(encoding="utf-8"))
    begin, end = (f"<!-- {word} of {times['depth']} -->\n" for word in ("begin", "end"))
    page = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    if not pattern.search(page):
        print(f"{PAGE.relative_to(ROOT)} has no lines {begin.strip()} and {end.strip()}.")
        return 1
    PAGE.write_text(pattern.sub(lambda _: table(times), page), encoding="utf-8")
    return 0


def table(times: dict[str, object]) -> str:
    """Return the table of one run, as Markdown."""
    groups = times["groups"]
    assert isinstance(groups, dict)
    rows = ["| group | lane | seconds | tests |", "|---|--:|--:|--:|"]
    rows += [
        f"| `{name}` | {each['lane']} | {each['seconds']:,} | {each.get('tests', '')} |"
        for name, each in groups.items()
    ]
    whole = f"| **`{COMMANDS[str(times['depth'])]}`** | | **{times['seconds']:,}** | |"
    return "\n".join([*rows, whole]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
