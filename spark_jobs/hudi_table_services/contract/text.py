"""Numbers as text, for logs and terminals."""

BAR_CELLS = 24
NOT_PARTITIONED = "(not partitioned)"
_BLOCKS = " ▏▎▍▌▋▊▉█"


def bar(value: float, full: float, cells: int = BAR_CELLS) -> str:
    """Return a bar of fixed width, exact to an eighth of a cell."""
    eighths = round(8 * cells * min(1.0, value / full)) if full else 0
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_BLOCKS[rest] if rest else "")).ljust(cells, "·")


def counted(number: float, noun: str, spec: str = "") -> str:
    """Return a number and its noun: ``1 file``, ``2 files``. `spec` formats the number: ``1,536 rows`` with ``,``."""
    return f"{number:{spec}} {noun}{'' if number == 1 else 's'}"


def human_bytes(size: float) -> str:
    """Return a size as text: ``1,536 B``, ``1.5 KiB``, ``12.0 MiB``."""
    if size < 1024:
        return f"{size:,.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:,.1f} {unit}"
    return f"{size / 1024:,.1f} TiB"


def human_time(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``12 min``, ``3.5 h``, ``4.0 days``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
