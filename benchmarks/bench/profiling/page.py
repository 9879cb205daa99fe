"""Write the tables and flame graphs of a whole run into docs/benchmarks.md."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench.page_sections import PageError, write_section
from bench.profiling.core_seconds import Profile
from bench.profiling.table import step_table, system_name
from bench.scenarios import scenario_named

SECTION = "make profile"
LEAST_SCALE = 1.0


def write_profile_page(results: Path, page: Path) -> list[Path]:
    """Replace the results in the page, and copy the flame graphs into the folder ``images`` beside it.

    Args:
        results: JSON file of a run. The flame graphs are in the folder of the same name without ``.json``.

    Returns:
        The written files.

    Raises:
        PageError: the run had fewer rows than scale 1, some rows were wrong, or the page lacks the two markers.
    """
    document = json.loads(results.read_text(encoding="utf-8"))
    profiles = [Profile(**each) for each in document["profiles"]]
    _refuse(document, profiles)
    written = [_copy_picture(results, page, profile) for profile in profiles]
    write_section(page, SECTION, "\n".join(_section(document, profiles)))
    return [page, *written]


def picture_name(profile: Profile) -> str:
    return f"profile-{profile.scenario}-{profile.system}.svg"


def _refuse(document: dict[str, object], profiles: list[Profile]) -> None:
    scale = document["scale"]
    assert isinstance(scale, float | int)
    if scale < LEAST_SCALE:
        raise PageError(
            f"The run had scale {scale:g}. Small scales mostly measure fixed costs: run `make profile` with scale 1."
        )
    if wrong := [f"{each.scenario} of {each.system}" for each in profiles if not each.correct]:
        raise PageError(f"Tables had wrong rows: {', '.join(wrong)}.")


def _copy_picture(results: Path, page: Path, profile: Profile) -> Path:
    target = page.parent / "images" / picture_name(profile)
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(results.with_suffix("") / picture_name(profile), target)
    return target


def _section(document: dict[str, object], profiles: list[Profile]) -> Iterator[str]:
    yield f"Measured on {str(document['measured_at'])[:10]} with {document['cores']} cores of Spark.\n"
    for name in dict.fromkeys(profile.scenario for profile in profiles):
        of_scenario = [profile for profile in profiles if profile.scenario == name]
        yield f"### {scenario_named(name).title.capitalize()}\n"
        yield step_table(of_scenario)
        for profile in of_scenario:
            title = f"Flame graph of {scenario_named(name).title}, {system_name(profile.system)}"
            yield f"![{title}](images/{picture_name(profile)})\n"
