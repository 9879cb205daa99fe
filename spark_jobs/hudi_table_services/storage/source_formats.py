"""Compare the names of a source's files with its format."""

_COMPRESSION = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate", ".xz")
_BINARY = {".parquet": "parquet", ".orc": "orc", ".avro": "avro"}
_TEXT = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


def other_format(file_name: str, source_format: str) -> str:
    """Return the format that the name of a file indicates, if Spark cannot read this file in the format of the source.

    Args:
        source_format: name of a Spark data source, such as ``parquet``.

    Returns:
        The name of a format. An empty string if the name of the file indicates no format, or a format that the data
        source possibly reads. A data source for a text format possibly reads the files of all text formats.
    """
    ending = _ending(file_name)
    wanted = source_format.lower()
    if wanted in _BINARY.values():
        stated = (_BINARY | _TEXT).get(ending, "")
    elif wanted in _TEXT.values():
        stated = _BINARY.get(ending, "")
    else:
        return ""
    return "" if stated == wanted else stated


def has_tabs(file_name: str) -> bool:
    """Whether the name of a file says that tabs separate the values of a line."""
    return _ending(file_name) == ".tsv"


def _ending(file_name: str) -> str:
    """Return the end of a name in lower case, such as ``.csv``, without the ending of a compression."""
    name = file_name.lower()
    for ending in _COMPRESSION:
        name = name.removesuffix(ending)
    dot = name.rfind(".")
    return name[dot:] if dot > 0 else ""
