"""Name the sub-command instead of the script in texts for users of the command."""

import re

from hudi_table_services.command.parsers import JOBS, PROGRAM

_COMMANDS = {script.file_name: f"{PROGRAM} {command}" for command, script in JOBS.items()}
_SCRIPT = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, _COMMANDS))})(?![\w/-])")


def with_commands(text: str) -> str:
    """Replace names of scripts, such as ``rollback.py``, by their sub-commands. Paths stay as they are."""
    return _SCRIPT.sub(lambda found: _COMMANDS[found[0]], text)
