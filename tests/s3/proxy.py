"""A proxy between the engine and the S3 server, which counts or changes what passes."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from s3_server import S3


class Passage(Protocol):
    """Changes or counts the bytes that pass through a proxy. The bytes arrive in pieces of any length."""

    def sent(self, data: bytes) -> bytes:
        """Return the bytes that the server gets instead of those that the engine sent."""

    def received(self, data: bytes) -> bytes:
        """Return the bytes that the engine gets instead of those that the server sent."""


@dataclass(frozen=True)
class WithoutHeader:
    """Hides a header of requests from the server. `name` is in lower case, as obstore sends it."""

    name: bytes

    def sent(self, data: bytes) -> bytes:
        return data.replace(b"\r\n" + self.name + b":", b"\r\nx" + self.name[1:] + b":")

    def received(self, data: bytes) -> bytes:
        return data


class _Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self, upstream: tuple[str, int], passage: Passage) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.upstream, self.passage = upstream, passage


class _Connection(socketserver.BaseRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        passage = self.server.passage
        with socket.create_connection(self.server.upstream) as upstream:
            back = threading.Thread(
                target=_copy, args=(upstream, self.request, passage.received), daemon=True
            )
            back.start()
            _copy(self.request, upstream, passage.sent)
            back.join()


def _copy(source: socket.socket, target: socket.socket, change: Callable[[bytes], bytes]) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(change(data))
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def forwarding(s3: S3, passage: Passage) -> Iterator[S3]:
    """Return the address of a proxy in front of a server."""
    host, _, port = s3.endpoint.removeprefix("http://").partition(":")
    with _Proxy((host, int(port)), passage) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield s3.at(f"http://127.0.0.1:{proxy.server_address[1]}")
        proxy.shutdown()
