"""Write the file ``.env`` of docker-compose.yaml with random passwords. An existing file is not changed."""

import base64
import os
import secrets
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def content() -> str:
    """Return the text of a new file."""
    fernet_key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return f"""\
# Settings of docker-compose.yaml. The passwords are random; keep this file private.

# The profiles to run: s3 is an S3 server; spark is a Spark cluster with a Spark Connect server.
COMPOSE_PROFILES=s3,spark

# Airflow's UI: http://localhost:8080, user admin
AIRFLOW_ADMIN_PASSWORD={secrets.token_urlsafe(12)}
AIRFLOW_FERNET_KEY={fernet_key}
AIRFLOW_JWT_SECRET={secrets.token_hex(32)}
AIRFLOW_SECRET_KEY={secrets.token_hex(16)}
POSTGRES_PASSWORD={secrets.token_hex(16)}

# The bucket of the tables. For a bucket of your own, remove s3 from COMPOSE_PROFILES, and set LAKE_ENDPOINT and
# LAKE_REGION.
LAKE_BUCKET=lake
LAKE_ACCESS_KEY={secrets.token_hex(8)}
LAKE_SECRET_KEY={secrets.token_hex(16)}
"""


def write_env_file(path: Path) -> bool:
    """Write the file for this user only. Return whether the file is new."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w") as file:
        file.write(content())
    return True


if __name__ == "__main__":
    target = ROOT / ".env"
    print(f"{target} is new." if write_env_file(target) else f"{target} exists.")
