"""A proxy in front of the server of an object store that disturbs some requests."""

import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import urlsplit

SLOW_S = 1.5


class Fault(Enum):
    """The way in which the proxy disturbs a request."""

    SLOW = "slow"
    """The answer arrives late."""
    THROTTLED = "throttled"
    """The server answers 503 SlowDown and does nothing."""
    DROPPED = "dropped"
    """The connection ends before the server gets the request."""
    LOST = "lost answer"
    """The server does what the request asks, and the connection ends before the answer arrives."""
    EXPIRED = "expired key"
    """The server answers that the key of the request has expired, and does nothing."""


class Disturbance(Protocol):
    """Decides which requests to disturb."""

    def fault_of(self, request: str, headers: Mapping[str, str]) -> Fault | None:
        """Return the fault of a request (method and path with query), or None. Threads may call at the same time."""


@dataclass
class OneFault:
    """The request to disturb, by its number from 1, and the number of requests so far.

    Attributes:
        method: count only requests with this HTTP method; empty to count all.
    """

    fault: Fault
    number: int
    method: str = ""
    count: int = 0
    disturbed: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_of(self, request: str, headers: Mapping[str, str]) -> Fault | None:
        if not request.startswith(self.method):
            return None
        with self.lock:
            self.count += 1
            if self.count != self.number:
                return None
            self.disturbed = request
            return self.fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.disturbance.fault_of(f"{self.command} {self.path}", self.headers)
        if fault is Fault.DROPPED:
            self.close_connection = True
            return
        if fault in _REFUSALS:
            status, content = _REFUSALS[fault]
            self._answer(status, [("Content-Type", "application/xml")], content)
            return
        if fault is Fault.SLOW:
            time.sleep(SLOW_S)
        upstream = http.client.HTTPConnection(self.server.upstream)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            missing = {name: value for name, value in self.server.added.items() if name not in self.headers}
            for name, value in (*missing.items(), *self.headers.items()):
                upstream.putheader(name, value)
            upstream.endheaders(body or None)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        if fault is Fault.LOST:
            self.close_connection = True
            return
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP_HEADERS]
        self._answer(answer.status, kept, content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        has_length = False
        for name, value in headers:
            self.send_header(name, value)
            has_length |= name.lower() == "content-length"
        if not has_length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        return


def _error(code: str, message: str) -> bytes:
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


_REFUSALS = {
    Fault.THROTTLED: (503, _error("SlowDown", "Reduce your request rate.")),
    Fault.EXPIRED: (400, _error("ExpiredToken", "The provided token has expired.")),
}
_HOP_HEADERS = ("connection", "keep-alive", "transfer-encoding")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str, disturbance: Disturbance, added: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream, self.disturbance, self.added = upstream, disturbance, added


@contextmanager
def disturbing(
    endpoint: str, disturbance: Disturbance, added: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Return the endpoint of a proxy that disturbs requests to a server. Both speak plain HTTP.

    Args:
        endpoint: URL of the server; the proxy keeps its path.
        added: headers of requests that do not contain them.
    """
    parts = urlsplit(endpoint)
    with _Server(parts.netloc, disturbance, added or {}) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}{parts.path}"
        finally:
            server.shutdown()
