"""Open the storage behind a base path."""

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.local import LocalStorage
from hudi_table_services.storage.storage import Storage


def open_storage(uri: str, options: Mapping[str, str] | None = None) -> Storage:
    if not uri:
        raise InvalidRequestError("The base path is empty.")
    if uri.startswith("file:"):
        return LocalStorage(os.path.abspath(unquote(urlsplit(uri).path)))
    if "://" not in uri:
        return LocalStorage(os.path.abspath(uri))
    raise InvalidRequestError(f"Storage of {uri!r} is not supported.")
