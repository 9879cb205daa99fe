"""A server with the part of the S3 protocol that this project uses, for the files of a folder.

Objects are the files of the folder, with their sizes: the server reads only the ranges that a client requests, so files
with holes cost nothing. Writes stay in the memory of the server and do not change the folder. Keys are sorted, so that
the time of a listing depends on the size of its answer and not on the size of the table. Run the server as a process;
it prints its port.
"""

import bisect
import hashlib
import json
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

COUNTS_PATH = "/-/requests"
"""Path of the numbers of requests by kind, as JSON. The path cannot be the name of a bucket."""

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object: a file of the folder, or bytes in memory.

    Attributes:
        path: file of the folder; None if `data` is the content.
    """

    size: int
    modified: float
    etag: str
    path: str | None = None
    data: bytes = b""

    def part(self, start: int, length: int) -> bytes:
        if self.path is None:
            return self.data[start : start + length]
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(length)


class PreconditionFailedError(Exception):
    """The object exists although it must not exist, or has another version than expected."""


@dataclass
class Bucket:
    """Objects by key. `keys` is sorted."""

    objects: dict[str, StoredFile] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    versions: int = 0

    @classmethod
    def of_folder(cls, folder: Path) -> "Bucket":
        """Return a bucket with all files below a folder. Keys are relative paths."""
        bucket = cls()
        for path, found in _files(str(folder)):
            key = os.path.relpath(path, folder)
            bucket.objects[key] = StoredFile(
                found.st_size, found.st_mtime, f'"{found.st_ino}-{found.st_mtime_ns}"', path
            )
        bucket.keys = sorted(bucket.objects)
        return bucket

    def put(self, key: str, data: bytes, *, must_be_new: bool = False, expected: str = "") -> StoredFile:
        """Create or replace an object. Raises PreconditionFailedError, and KeyError if `expected` names no object."""
        with self.guard:
            present = self.objects.get(key)
            if must_be_new and present is not None:
                raise PreconditionFailedError(key)
            if expected and present is None:
                raise KeyError(key)
            if expected and present is not None and present.etag != expected:
                raise PreconditionFailedError(key)
            self.versions += 1
            digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
            stored = StoredFile(len(data), time.time(), f'"{digest}-{self.versions}"', None, data)
            if present is None:
                bisect.insort(self.keys, key)
            self.objects[key] = stored
            return stored

    def delete(self, key: str) -> None:
        with self.guard:
            if self.objects.pop(key, None) is not None:
                del self.keys[bisect.bisect_left(self.keys, key)]

    def page(self, prefix: str, delimiter: str, after: str) -> tuple[list[str], list[str], str]:
        """Return keys and common prefixes of one page of a listing, and the token of the next page or ``""``."""
        keys: list[str] = []
        prefixes: list[str] = []
        with self.guard:
            position = bisect.bisect_left(self.keys, max(prefix, after))
            while position < len(self.keys) and self.keys[position].startswith(prefix):
                key = self.keys[position]
                if len(keys) + len(prefixes) == _PAGE:
                    return keys, prefixes, key
                cut = key.find(delimiter, len(prefix)) if delimiter else -1
                if cut < 0:
                    keys.append(key)
                    position += 1
                else:
                    prefixes.append(key[: cut + 1])
                    position = bisect.bisect_left(self.keys, key[:cut] + chr(ord(delimiter) + 1))
        return keys, prefixes, ""


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry.path, entry.stat()


class ObjectServer(ThreadingHTTPServer):
    """Serve one bucket, whose name does not matter.

    Args:
        wait_s: seconds that each request waits, to imitate the latency of an object store.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, bucket: Bucket, *, wait_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.bucket = bucket
        self.wait_s = wait_s
        self.uploads: dict[str, dict[int, bytes]] = {}
        self._counts: Counter[str] = Counter()
        self._guard = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, kind: str) -> None:
        with self._guard:
            self._counts[kind] += 1
        time.sleep(self.wait_s)

    def counts(self) -> dict[str, int]:
        with self._guard:
            return dict(self._counts)


class _Requests(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ObjectServer

    def log_request(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        if self.path == COUNTS_PATH:
            self._answer(200, json.dumps(self.server.counts()).encode())
            return
        key, query = self._target()
        if "list-type" in query:
            self.server.count("LIST")
            self._answer(200, self._listing(query).encode())
            return
        self.server.count("GET")
        self._send_object(key, with_content=True)

    def do_HEAD(self) -> None:
        self.server.count("HEAD")
        self._send_object(self._target()[0], with_content=False)

    def do_PUT(self) -> None:
        self.server.count("PUT")
        (key, query), data = self._target(), self._body()
        if "uploadId" in query:
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = data
            self._answer(200, headers={"ETag": f'"{query["partNumber"]}"'})
            return
        is_new = self.headers.get("If-None-Match") == "*"
        try:
            stored = self.server.bucket.put(
                key, data, must_be_new=is_new, expected=self.headers.get("If-Match", "")
            )
        except PreconditionFailedError:
            self._fail(412, "PreconditionFailed")
        except KeyError:
            self._fail(404, "NoSuchKey")
        else:
            self._answer(200, headers={"ETag": stored.etag})

    def do_DELETE(self) -> None:
        self.server.count("DELETE")
        self.server.bucket.delete(self._target()[0])
        self._answer(204)

    def do_POST(self) -> None:
        self.server.count("POST")
        (key, query), body = self._target(), self._body()
        if "delete" in query:
            self._answer(200, self._delete_all(body).encode())
        elif "uploads" in query:
            number = str(len(self.server.uploads))
            self.server.uploads[number] = {}
            fields = f"<Key>{escape(key)}</Key><UploadId>{number}</UploadId>"
            self._answer(200, _document("InitiateMultipartUploadResult", fields).encode())
        else:
            parts = self.server.uploads.pop(query["uploadId"])
            stored = self.server.bucket.put(key, b"".join(parts[number] for number in sorted(parts)))
            fields = f"<Key>{escape(key)}</Key><ETag>{escape(stored.etag)}</ETag>"
            self._answer(200, _document("CompleteMultipartUploadResult", fields).encode())

    def _target(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return unquote(parts.path).lstrip("/").partition("/")[2], query

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _listing(self, query: dict[str, str]) -> str:
        bucket, prefix = self.server.bucket, query.get("prefix", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        keys, prefixes, token = bucket.page(prefix, query.get("delimiter", ""), after)
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_iso(found.modified)}</LastModified>"
            f"<ETag>{escape(found.etag)}</ETag><Size>{found.size}</Size></Contents>"
            for key in keys
            if (found := bucket.objects.get(key)) is not None
        )
        folders = "".join(f"<CommonPrefixes><Prefix>{escape(p)}</Prefix></CommonPrefixes>" for p in prefixes)
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        head = f"<Prefix>{escape(prefix)}</Prefix><IsTruncated>{str(bool(token)).lower()}</IsTruncated>"
        return _document("ListBucketResult", head + more + contents + folders)

    def _delete_all(self, body: bytes) -> str:
        deleted = []
        for element in ElementTree.fromstring(body).iter():
            if element.tag.rpartition("}")[2] == "Key" and element.text:
                self.server.bucket.delete(element.text)
                deleted.append(f"<Deleted><Key>{escape(element.text)}</Key></Deleted>")
        return _document("DeleteResult", "".join(deleted))

    def _send_object(self, key: str, *, with_content: bool) -> None:
        found = self.server.bucket.objects.get(key)
        if found is None:
            self._fail(404, "NoSuchKey", with_content=with_content)
            return
        start, length, wanted = 0, found.size, self.headers.get("Range")
        headers = {"ETag": found.etag, "Last-Modified": formatdate(found.modified, usegmt=True)}
        if wanted is not None:
            start, length = _range(wanted, found.size)
            if length == 0:
                self._fail(416, "InvalidRange", with_content=with_content)
                return
            headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{found.size}"
        content = found.part(start, length) if with_content else b""
        self._answer(200 if wanted is None else 206, content, headers=headers, length=length)

    def _fail(self, status: int, code: str, *, with_content: bool = True) -> None:
        content = _document("Error", f"<Code>{code}</Code>").encode() if with_content else b""
        self._answer(status, content)

    def _answer(
        self,
        status: int,
        content: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)


def _range(text: str, size: int) -> tuple[int, int]:
    """Return start and length of a range such as ``bytes=0-99``, ``bytes=100-`` or ``bytes=-8``."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return 0, size
    if not match[1]:
        length = min(int(match[2]), size)
        return size - length, length
    start = int(match[1])
    end = min(int(match[2]) + 1, size) if match[2] else size
    return start, max(0, end - start)


def _document(name: str, content: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><{name}>{content}</{name}>'


def _iso(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment * 1000) % 1000:03d}Z"


def main() -> None:
    """Serve a folder until standard input ends. Arguments: the folder, and the milliseconds that each request waits."""
    server = ObjectServer(Bucket.of_folder(Path(sys.argv[1])), wait_s=float(sys.argv[2]) / 1000)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
