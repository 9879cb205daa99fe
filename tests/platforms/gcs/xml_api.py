"""A small server for requests to Google Cloud Storage, written from the reference of its XML API.

It is no emulator: it knows the requests that the reference documents for objects, listings (version 2) and multipart
uploads, with the precondition ``x-goog-if-generation-match``. It refuses every header, parameter and method that this
module does not name, so that a test fails if the client sends something undocumented. A request must carry a JSON web
token that the key of the service account signed, unless the server is public.

Sources: https://docs.cloud.google.com/storage/docs/xml-api/reference-methods, .../xml-api/reference-headers,
.../xml-api/reference-status, .../multipart-uploads, and RFC 7523 for the token.
"""

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import jwt

BUCKET = "lake"
PAGE = 1000
"""Largest number of keys and prefixes in one page of a listing."""

LEAST_PART_BYTES = 5 * 1024 * 1024
"""Least size of each part of a multipart upload, except for the last part."""

_GENERATION_MATCH = "x-goog-if-generation-match"
_PARAMETERS: Mapping[str, frozenset[str]] = {
    "GET": frozenset({"list-type", "prefix", "delimiter", "continuation-token", "start-after", "max-keys"}),
    "PUT": frozenset({"partNumber", "uploadId"}),
    "POST": frozenset({"uploads", "uploadId"}),
    "DELETE": frozenset({"uploadId"}),
    "HEAD": frozenset(),
}
_HEADERS = {
    *("accept", "accept-encoding", "authorization", "connection", "content-length", "content-type"),
    *("host", "range", "user-agent"),
}
_STATUS = {
    "AccessDenied": 403,
    "AuthenticationRequired": 401,
    "EntityTooSmall": 400,
    "InvalidArgument": 400,
    "InvalidPart": 400,
    "InvalidRange": 416,
    "NoSuchBucket": 404,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "PreconditionFailed": 412,
}


class RefusalError(Exception):
    """The server answers a request with this error code."""

    def __init__(self, code: str, details: str = "") -> None:
        super().__init__(code, details)
        self.code, self.details = code, details


@dataclass(frozen=True)
class StoredVersion:
    """The current version of an object."""

    data: bytes
    generation: int
    modified: float

    @property
    def e_tag(self) -> str:
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'

    @property
    def headers(self) -> dict[str, str]:
        return {
            "ETag": self.e_tag,
            "Last-Modified": formatdate(self.modified, usegmt=True),
            "x-goog-generation": str(self.generation),
            "x-goog-metageneration": "1",
        }


@dataclass
class Bucket:
    """Objects by key, and the parts of each multipart upload by its id. Every method is atomic."""

    objects: dict[str, StoredVersion] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)
    last_generation: int = 0

    def get(self, key: str) -> StoredVersion:
        with self.guard:
            return self._existing(key)

    def put(self, key: str, data: bytes, generation_match: str | None) -> StoredVersion:
        """Store an object. Generation 0 in the precondition means that there must be no object."""
        with self.guard:
            if generation_match is not None:
                current = self.objects.get(key)
                if int(generation_match) != (current.generation if current else 0):
                    raise RefusalError("PreconditionFailed")
            self.last_generation = max(self.last_generation + 1, time.time_ns() // 1000)
            self.objects[key] = StoredVersion(data, self.last_generation, time.time())
            return self.objects[key]

    def delete(self, key: str) -> None:
        with self.guard:
            self._existing(key)
            del self.objects[key]

    def start_upload(self) -> str:
        with self.guard:
            upload = f"upload+{len(self.uploads)}/="
            self.uploads[upload] = {}
            return upload

    def put_part(self, upload: str, number: int, data: bytes) -> str:
        with self.guard:
            self._parts(upload)[number] = data
            return StoredVersion(data, 0, 0).e_tag

    def complete(self, key: str, upload: str, named: list[tuple[int, str]]) -> StoredVersion:
        with self.guard:
            parts = self._parts(upload)
            if not named or any(number not in parts for number, _ in named):
                raise RefusalError("InvalidPart")
            if any(StoredVersion(parts[number], 0, 0).e_tag != e_tag for number, e_tag in named):
                raise RefusalError("InvalidPart", "ETag")
            if any(len(parts[number]) < LEAST_PART_BYTES for number, _ in named[:-1]):
                raise RefusalError("EntityTooSmall")
            data = b"".join(parts[number] for number, _ in named)
            del self.uploads[upload]
        return self.put(key, data, None)

    def abort(self, upload: str) -> None:
        with self.guard:
            self._parts(upload)
            del self.uploads[upload]

    def listing(self, query: Mapping[str, str]) -> str:
        """Return a page of the listing as XML. The continuation token is the last entry of the previous page."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = max(query.get("continuation-token", ""), query.get("start-after", ""))
        size = min(int(query.get("max-keys", PAGE)), PAGE)
        with self.guard:
            entries: dict[str, StoredVersion | None] = {}
            for key in sorted(self.objects):
                if key.startswith(prefix):
                    end = key.find(delimiter, len(prefix)) if delimiter else -1
                    entries[key[: end + len(delimiter)] if end >= 0 else key] = (
                        None if end >= 0 else self.objects[key]
                    )
        page = [name for name in sorted(entries) if name > after][: size + 1]
        is_truncated, page = len(page) > size, page[:size]
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if is_truncated else ""
        lines = [_entry(name, entries[name]) for name in page]
        return (
            f"<ListBucketResult><Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<IsTruncated>{str(is_truncated).lower()}</IsTruncated>{token}{''.join(lines)}</ListBucketResult>"
        )

    def _existing(self, key: str) -> StoredVersion:
        if key not in self.objects:
            raise RefusalError("NoSuchKey", key)
        return self.objects[key]

    def _parts(self, upload: str) -> dict[int, bytes]:
        if upload not in self.uploads:
            raise RefusalError("NoSuchUpload")
        return self.uploads[upload]


def _entry(name: str, version: StoredVersion | None) -> str:
    if version is None:
        return f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
    milliseconds = int(version.modified * 1000) % 1000
    modified = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(version.modified)) + f".{milliseconds:03}Z"
    return (
        f"<Contents><Key>{escape(name)}</Key><Generation>{version.generation}</Generation>"
        f"<MetaGeneration>1</MetaGeneration><LastModified>{modified}</LastModified>"
        f"<ETag>{escape(version.e_tag)}</ETag><Size>{len(version.data)}</Size></Contents>"
    )


def _element(name: str, content: str) -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?><{name}>{content}</{name}>".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "XmlApiServer"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            status, headers, content = self._answer(body)
        except RefusalError as refusal:
            status, headers = _STATUS[refusal.code], {"Content-Type": "application/xml; charset=UTF-8"}
            details = f"<Code>{refusal.code}</Code><Details>{escape(refusal.details)}</Details>"
            content = _element("Error", details)
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815 - names of the base class

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        self._refuse_what_is_not_documented(query)
        self.server.check_access(self.headers.get("Authorization"))
        bucket, _, key = parts.path.removeprefix("/").partition("/")
        if unquote(bucket) != BUCKET:
            raise RefusalError("NoSuchBucket", bucket)
        key, stored = unquote(key), self.server.bucket
        if not key:
            if self.command != "GET" or query.get("list-type") != "2":
                raise RefusalError("InvalidArgument", "only listings of version 2")
            return 200, {"Content-Type": "application/xml; charset=UTF-8"}, stored.listing(query).encode()
        if self.command in ("GET", "HEAD"):
            return self._download(stored.get(key))
        if self.command == "DELETE":
            if "uploadId" in query:
                stored.abort(query["uploadId"])
            else:
                stored.delete(key)
            return 204, {}, b""
        if self.command == "POST":
            return self._upload_in_parts(key, query, body)
        if "uploadId" in query:
            return 200, {"ETag": stored.put_part(query["uploadId"], int(query["partNumber"]), body)}, b""
        return 200, stored.put(key, body, self.headers.get(_GENERATION_MATCH)).headers, b""

    def _refuse_what_is_not_documented(self, query: Mapping[str, str]) -> None:
        allowed = _HEADERS | ({_GENERATION_MATCH} if self.command == "PUT" else set())
        unknown = [name for name in self.headers if name.lower() not in allowed]
        unknown += [name for name in query if name not in _PARAMETERS[self.command]]
        if unknown:
            self.server.undocumented.extend(f"{self.command} {name}" for name in unknown)
            raise RefusalError("InvalidArgument", ", ".join(unknown))

    def _download(self, version: StoredVersion) -> tuple[int, dict[str, str], bytes]:
        total, wanted = len(version.data), self.headers.get("Range")
        if not wanted:
            return 200, {**version.headers, "Content-Length": str(total)}, version.data
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
        if not found or found.groups() == ("", ""):
            raise RefusalError("InvalidArgument", wanted)
        first, last = found.groups()
        start = int(first) if first else max(total - int(last), 0)
        end = min(int(last), total - 1) if first and last else total - 1
        if start > end:
            raise RefusalError("InvalidRange", wanted)
        data = version.data[start : end + 1]
        ranged = {"Content-Range": f"bytes {start}-{end}/{total}", "Content-Length": str(len(data))}
        return 206, {**version.headers, **ranged}, data

    def _upload_in_parts(
        self, key: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        stored, xml = self.server.bucket, {"Content-Type": "application/xml; charset=UTF-8"}
        place = f"<Bucket>{BUCKET}</Bucket><Key>{escape(key)}</Key>"
        if "uploads" in query:
            upload = stored.start_upload()
            return (
                200,
                xml,
                _element("InitiateMultipartUploadResult", f"{place}<UploadId>{upload}</UploadId>"),
            )
        if "uploadId" not in query:
            raise RefusalError("InvalidArgument", "POST")
        named = [
            (int(part.findtext("PartNumber", "")), part.findtext("ETag", ""))
            for part in ElementTree.fromstring(body).iter("Part")
        ]
        version = stored.complete(key, query["uploadId"], named)
        answer = _element("CompleteMultipartUploadResult", f"{place}<ETag>{escape(version.e_tag)}</ETag>")
        return 200, {**xml, "x-goog-generation": str(version.generation)}, answer

    def log_message(self, *_: object) -> None:
        return


class XmlApiServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        public_key: key that checks the signature of tokens.
        is_public: whether the server accepts requests without a token.
        anonymous: number of requests without a token.
        undocumented: headers and parameters that the server refused.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, public_key: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.public_key, self.bucket = public_key, Bucket()
        self.is_public, self.anonymous = False, 0
        self.undocumented: list[str] = []

    def check_access(self, authorization: str | None) -> None:
        """Refuse a request without a valid token. Raises RefusalError."""
        if authorization is None:
            self.anonymous += 1
            if self.is_public:
                return
            raise RefusalError("AuthenticationRequired")
        try:
            jwt.decode(
                authorization.removeprefix("Bearer "),
                self.public_key,
                algorithms=["RS256"],
                options={"verify_aud": False, "require": ["exp", "iat", "iss"]},
            )
        except jwt.InvalidTokenError as error:
            raise RefusalError("AuthenticationRequired", type(error).__name__) from error


@contextmanager
def running_server(public_key: bytes) -> Iterator[XmlApiServer]:
    """Run a server in a thread."""
    with XmlApiServer(public_key) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
