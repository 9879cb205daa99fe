"""Hudi tables as assets: ``hudi://`` and the table's base path, written in one way only."""

from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Asset

_ALIASES = {"s3a": "s3", "s3n": "s3"}


def asset_uri(base_path: str) -> str:
    """``s3a://lake/flights/`` → ``hudi://s3/lake/flights``; ``/data/flights`` → ``hudi://file/data/flights``.

    Raises:
        ValueError: the path is relative or holds a template.
    """
    if "{{" in base_path or "{%" in base_path:
        raise ValueError(f"An asset needs a base path that is known when the DAG is read, not {base_path!r}.")
    if base_path.startswith("/"):
        return f"hudi://file{quote(base_path.rstrip('/'))}"
    parts = urlsplit(base_path)
    path = "/".join(name for name in (unquote(parts.netloc + parts.path)).split("/") if name)
    if not parts.scheme or not path:
        raise ValueError(f"{base_path!r} is neither an absolute path nor a URI.")
    return f"hudi://{_ALIASES.get(parts.scheme, parts.scheme)}/{quote(path)}"


def hudi_asset(base_path: str, **arguments: Any) -> "Asset":
    """The asset of the table at a base path; further arguments go to Airflow's ``Asset``."""
    from airflow.providers.common.compat.sdk import Asset

    return Asset(uri=asset_uri(base_path), **arguments)


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Called by Airflow for every asset with this scheme. Raises ValueError for a malformed one."""
    if not uri.netloc or not uri.path.strip("/"):
        raise ValueError(
            "The URI of a Hudi asset is hudi://<scheme>/<path>, such as hudi://s3/lake/flights; "
            "airflow_hudi_provider.assets.hudi_asset(base_path) makes it."
        )
    return uri._replace(path=uri.path.rstrip("/"), query="", fragment="")


def create_asset(*, base_path: str, extra: dict[str, Any] | None = None) -> "Asset":
    """Called by Airflow where a hook reports lineage."""
    return hudi_asset(base_path, extra=extra)
