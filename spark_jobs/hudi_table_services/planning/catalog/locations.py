"""Build and compare the locations of tables and partitions in a catalog."""

import re

_SAME_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb", "": "file"}


def table_location(uri: str) -> str:
    """Convert the URI of a table's storage to the location in the catalog. A local path becomes ``file:///path``."""
    plain = uri.rstrip("/")
    return f"file://{plain}" if plain.startswith("/") else plain


def glue_location(location: str) -> str:
    """Return the location with the scheme that AWS services use: ``s3`` instead of ``s3a`` and ``s3n``."""
    return re.sub(r"^s3[an]://", "s3://", location)


def partition_location(location: str, partition_path: str) -> str:
    """Return the location of a partition of the table at `location`."""
    return f"{location}/{partition_path}" if partition_path else location


def are_equal_locations(one: str, other: str) -> bool:
    """Whether two locations are equal, apart from trailing slashes. Schemes such as s3 and s3a are equal, too."""
    return _key(one) == _key(other)


def is_below(location: str, parent: str) -> bool:
    """Whether a location is `parent` or below it."""
    inner, outer = _key(location), _key(parent)
    return inner == outer or inner.startswith(f"{outer}/")


def _key(location: str) -> str:
    scheme, separator, rest = location.partition(":")
    if not separator or "/" in scheme:
        scheme, rest = "", location
    path = rest if rest.startswith("//") else f"//{rest}"
    return f"{_SAME_SCHEMES.get(scheme.lower(), scheme.lower())}:{path.rstrip('/')}"
