"""A server of the XML API of Google Cloud Storage, and keys of service accounts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from xml_api import BUCKET, XmlApiServer, running_server


@dataclass(frozen=True)
class Gcs:
    """A running server, and the document of a service account with access to the server."""

    server: XmlApiServer
    account: str

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def options(self) -> dict[str, str]:
        """Storage options for the server."""
        return {"google_service_account_key": self.account, "allow_http": "true"}

    def options_at(self, endpoint: str) -> dict[str, str]:
        """Return the storage options for the same server at another address."""
        document = {**json.loads(self.account), "gcs_base_url": endpoint}
        return {**self.options, "google_service_account_key": json.dumps(document)}

    def new_table(self) -> str:
        """Return the URI of a folder that no other test uses."""
        return f"gs://{BUCKET}/tables/{uuid4().hex}"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def service_account(key: rsa.RSAPrivateKey, endpoint: str) -> str:
    """Return the document of a service account. The client reads the field `gcs_base_url` for emulators."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return json.dumps(
        {
            "type": "service_account",
            "private_key": pem.decode(),
            "private_key_id": "key-1",
            "client_email": "jobs@lake.iam.gserviceaccount.com",
            "gcs_base_url": endpoint,
        }
    )


@contextmanager
def running_gcs() -> Iterator[Gcs]:
    """Run a server that accepts the tokens of one service account."""
    key = new_key()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with running_server(public) as server:
        yield Gcs(server, service_account(key, f"http://127.0.0.1:{server.server_address[1]}"))
