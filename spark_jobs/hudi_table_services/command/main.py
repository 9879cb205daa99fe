"""Entry point of `hudi-services`. The module needs no installed package, so it can report which package is missing."""

import sys
from collections.abc import Sequence

_MISSING_PACKAGE_EXIT_CODE = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `hudi-services`.

    Args:
        arguments: words after the name of the program; None means the arguments of this process.

    Returns:
        The exit code.
    """
    try:
        from hudi_table_services.command.program import run
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        print(
            f"hudi-services needs the package {package!r}: run pip install 'airflow-provider-hudi[engine]'.",
            file=sys.stderr,
        )
        return _MISSING_PACKAGE_EXIT_CODE
    return run(sys.argv[1:] if arguments is None else arguments)
