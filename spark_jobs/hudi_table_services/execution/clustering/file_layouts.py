"""Store the layout of base files in their footers, and read it again.

Once the clustering that wrote a file is archived, the footer is the only record of the file's layout.
"""

import re
from collections.abc import Collection, Mapping

from hudi_table_services.execution.base_file_reader import open_base_file
from hudi_table_services.model.clustering import Layout, LayoutStrategy, SettledSlice
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

LAYOUT_COLUMNS = "hudi_table_services.layout.columns"
LAYOUT_STRATEGY = "hudi_table_services.layout.strategy"
TARGET_BYTES = "hudi_table_services.layout.target_file_max_bytes"
_READ_THREADS = 16
_NUMBER = re.compile(r"[0-9]{1,18}")


def footer_of(settled: SettledSlice) -> dict[str, str]:
    """Return the key-value pairs for the footers of files that a clustering writes."""
    return {
        LAYOUT_COLUMNS: ",".join(settled.layout.columns),
        LAYOUT_STRATEGY: settled.layout.strategy.value,
        TARGET_BYTES: str(settled.target_file_max_bytes or ""),
    }


def read_layouts(storage: Storage, paths: Collection[str]) -> dict[str, SettledSlice]:
    """Map each path to the layout and target size in the file's footer. Leave out files without these values."""
    ordered = sorted(paths)
    found = zip(
        ordered,
        map_in_parallel(lambda path: _layout(storage, path), ordered, threads=_READ_THREADS),
        strict=True,
    )
    return {path: settled for path, settled in found if settled is not None}


def _layout(storage: Storage, path: str) -> SettledSlice | None:
    with open_base_file(storage, path) as file:
        pairs = file.metadata.metadata or {}
    return _decoded(
        {key.decode(errors="replace"): value.decode(errors="replace") for key, value in pairs.items()}
    )


def _decoded(pairs: Mapping[str, str]) -> SettledSlice | None:
    strategy, target = pairs.get(LAYOUT_STRATEGY, ""), pairs.get(TARGET_BYTES, "")
    if strategy not in LayoutStrategy.__members__:
        return None
    columns = tuple(name for name in pairs.get(LAYOUT_COLUMNS, "").split(",") if name)
    return SettledSlice(
        layout=Layout(columns=columns, strategy=LayoutStrategy(strategy)),
        target_file_max_bytes=int(target) if _NUMBER.fullmatch(target) else None,
    )
