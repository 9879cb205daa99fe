"""Write docs/reference.md from the docstrings of operators, sensors, assets and hook; --check: is it current?"""

import sys
from collections.abc import Iterator
from pathlib import Path

from docs_site.docstrings import DescribedClass, Sources

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "reference.md"
PACKAGE = "airflow_hudi_provider"

HEAD = """\
<!-- Made by scripts/make_reference_doc.py from the docstrings; change those. -->

# Operators, sensors, assets, hook

Every public class with every parameter. "Templated" parameters take Jinja and XCom references. A parameter without a
default is required. Operators that may run on Spark also take what `SparkSubmitOperator` takes; all take what Airflow's
`BaseOperator` takes.

How they behave when they are retried, cleared or killed: [In Airflow](airflow.md). The keys of `hudi_options`:
[Options](options.md).
"""
# Heading, modules below the package, and whether methods are told.
SECTIONS = (
    ("Operators", ("operators.",), False),
    ("Sensors", ("sensors.",), False),
    ("Assets and watchers", ("assets", "watchers"), False),
    ("Hook", ("hooks.hudi",), True),
    ("Questions and answers of the hook", ("instant_query", "incremental"), False),
)


def public_classes(sources: Sources) -> Iterator[DescribedClass]:
    """All that the page describes."""
    for _, modules, _ in SECTIONS:
        for name in _names(sources, modules):
            yield sources.describe(name)


def page(sources: Sources) -> str:
    """The whole text."""
    return HEAD + "".join(_sections(sources))


def _names(sources: Sources, modules: tuple[str, ...]) -> list[str]:
    return [name for module in modules for name in sources.leaves(f"{PACKAGE}.{module}")]


def _sections(sources: Sources) -> Iterator[str]:
    for heading, modules, has_methods in SECTIONS:
        yield f"\n## {heading}\n"
        for name in _names(sources, modules):
            yield _class(sources.describe(name))
            if has_methods:
                yield from (f"\n#### `{call}`\n\n{words.strip()}\n" for call, words in sources.methods(name))


def _class(described: DescribedClass) -> str:
    lines = [
        "",
        f"### {described.name}",
        "",
        "```python",
        f"from {described.module} import {described.name}",
        "```",
        "",
        described.prose.strip(),
    ]
    if described.parameters:
        lines += ["", "| parameter | default | meaning |", "|---|---|---|"]
    for each in described.parameters:
        default = f"`{each.default}`" if each.default else ""
        lines.append(f"| `{each.name}` | {_cell(default)} | {_cell(each.words)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> int:
    """Exit code 1: the page is behind, or a parameter has no words."""
    sources = Sources(REPOSITORY / PACKAGE)
    text = page(sources)
    wrong = [
        f"{each.name}: without words: {list(each.undescribed)}, no such argument: {list(each.unknown)}"
        for each in public_classes(sources)
        if each.undescribed or each.unknown
    ]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(
        f"{PAGE.relative_to(REPOSITORY)} is behind: run python scripts/make_reference_doc.py", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
