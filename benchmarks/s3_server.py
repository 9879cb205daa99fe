"""An S3 server with the files of a folder. ``plan_on_s3.py`` starts this script with the Python of ``.venv-s3``.

The script puts the files into the server's memory directly, because a hundred thousand uploads take minutes. It prints
``ready``. For each line of its input, it then prints the number of requests since the previous line.
"""

import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server

REGION = "us-east-1"


class _CountedRequests:
    """A WSGI application that counts its calls."""

    def __init__(self, inner: Callable[..., Iterable[bytes]]) -> None:
        self._inner = inner
        self._numbers = itertools.count()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        next(self._numbers)
        return self._inner(environ, start_response)

    def take(self) -> int:
        """Return the number of calls since the last call of this method."""
        count = next(self._numbers)
        self._numbers = itertools.count()
        return count


class _Quiet(WSGIRequestHandler):
    """Handles requests without logging them."""

    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        return


def main(folder: Path, bucket: str, port: int) -> None:
    """Serve the files below the folder until the input ends."""
    from threading import Thread

    backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    backend.create_bucket(bucket, REGION)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            backend.put_object(bucket, path.relative_to(folder).as_posix(), path.read_bytes())
    requests = _CountedRequests(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", port, requests, threaded=True, request_handler=_Quiet)
    Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(requests.take(), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
