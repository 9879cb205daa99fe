"""The reference equals the docstrings, and the page of errors covers every error class and exit code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_sources import DOCS, PROVIDER, REPOSITORY
from docs_site.docstrings import Sources, as_markdown

from hudi_table_services.errors import HudiTableServiceError

GUIDE = (DOCS / "operations.md").read_text(encoding="utf-8")


def errors(root: type[HudiTableServiceError]) -> list[type[HudiTableServiceError]]:
    """Return the class and its subclasses, without classes that other tests define."""
    own = (child for child in root.__subclasses__() if child.__module__ == root.__module__)
    return [root, *(error for child in own for error in errors(child))]


def test_reference_is_current_and_describes_every_parameter() -> None:
    command = [sys.executable, REPOSITORY / "scripts" / "make_reference_doc.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_reference_has_every_operator_and_sensor_of_the_provider_info() -> None:
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    from airflow_hudi_provider.get_provider_info import get_provider_info

    info = get_provider_info()
    modules = {
        m for kind in ("operators", "sensors", "hooks") for each in info[kind] for m in each["python-modules"]
    }
    classes = [name for name, module in PROVIDER.modules.items() if module in modules and name[0] != "_"]
    bases = {base.id for node in PROVIDER.nodes.values() for base in node.bases if hasattr(base, "id")}
    leaves = [name for name in classes if name not in bases]
    assert len(leaves) > 15
    assert [name for name in leaves if f"\n### {name}\n" not in page] == []


def test_undescribed_and_unknown_parameters_are_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text(
        'class Base:\n    """Base.\n\n    :param inherited: a.\n    """\n\n'
        "    def __init__(self, *, inherited=1, hidden=2): ...\n\n\n"
        'class Leaf(Base):\n    """Leaf.\n\n    :param own: ``b``\n        and more.\n    :param extra: c.\n    """\n\n'
        "    def __init__(self, *, own, **kwargs): ...\n",
        encoding="utf-8",
    )
    sources = Sources(package)
    leaf = sources.describe("Leaf")
    assert [(p.name, p.default, p.words) for p in leaf.parameters if p.words] == [
        ("own", "", "`b` and more."),
        ("extra", "", "c."),
        ("inherited", "1", "a."),
    ]
    assert (leaf.undescribed, leaf.unknown) == (("hidden",), ("extra",))
    assert sources.leaves("package.") == ["Leaf"]


def test_docstrings_are_converted_to_markdown() -> None:
    text = (
        "One ``two``, see docs/health.md.\n\n::\n\n    a = 1\n\n    b\n\n"
        "Args:\n    x: words\n        go on.\n    y: z.\n"
    )
    assert as_markdown(text) == (
        "One `two`, see [health.md](health.md).\n\n```python\na = 1\n\nb\n```\n\n"
        "Args:\n\n- `x`: words go on.\n- `y`: z.\n"
    )


@pytest.mark.parametrize("error", errors(HudiTableServiceError))
def test_the_guide_has_a_section_for_every_error(error: type[HudiTableServiceError]) -> None:
    retried = "retried" if error.retryable else "not retried"
    section = re.search(rf"^### {error.__name__}\n\n(.*)\n((?:(?!^#).*\n)*)", GUIDE, re.MULTILINE)
    assert section, f"docs/operations.md has no section for {error.__name__}"
    assert section[1].startswith(f"Exit code {error.exit_code}, {retried}. ")
    assert len(section[1] + section[2]) > 100, "the section must give meaning and remedy"


def test_guide_lists_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", GUIDE, re.MULTILINE)}
    assert listed == {0, *(error.exit_code for error in errors(HudiTableServiceError))}


def test_guide_has_no_section_for_a_removed_error() -> None:
    """The guide has sections for the errors of the engine, and for the errors of tasks, which blocks in logs name."""
    sections = re.findall(r"^### (\w+Error)$", GUIDE, re.MULTILINE)
    source = (REPOSITORY / "airflow_hudi_provider" / "exceptions.py").read_text(encoding="utf-8")
    of_tasks = re.findall(r"^class (\w+Error)\(", source, re.MULTILINE)
    of_tasks.remove("HudiSensorTimeoutError")  # blocks name its base class, AirflowSensorTimeout
    assert "### AirflowSensorTimeout" in GUIDE
    assert len(of_tasks) == 2
    assert sorted(sections) == sorted([*of_tasks, *(e.__name__ for e in errors(HudiTableServiceError))])
