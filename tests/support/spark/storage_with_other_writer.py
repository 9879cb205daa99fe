"""Another writer acts in the middle of a write."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.faulty_storage import FaultyStorage


@dataclass
class StorageWithOtherWriter(FaultyStorage):
    """Another writer acts once, right before the first data file of the write is created."""

    act: Callable[[], object] = lambda: None
    has_acted: bool = False
    _args: tuple[Any, ...] = field(default=(), repr=False)

    def _change(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        path = str(arguments[0])
        is_marker = path.startswith(".hoodie/.temp/")
        if is_marker and not self.has_acted and operation.__name__ == "write":
            self.has_acted = True
            self.act()
        return operation(*arguments)
