"""The pages under test, as the scripts that build the documentation site read them."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from docs_site.docstrings import Sources  # noqa: E402
from docs_site.markdown_pages import CodeBlock, code_blocks, read_pages  # noqa: E402

DOCS = REPOSITORY / "docs"
PROVIDER = Sources(REPOSITORY / "airflow_hudi_provider")
PAGES = {
    **read_pages(DOCS),
    **{path: path.read_text(encoding="utf-8") for path in sorted(REPOSITORY.glob("*.md"))},
}


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def blocks_in(*languages: str) -> dict[str, CodeBlock]:
    """Return code blocks by page and line."""
    return {
        f"{name_of(path)}:{block.line}": block
        for path, text in PAGES.items()
        for block in code_blocks(text)
        if block.language in languages
    }
