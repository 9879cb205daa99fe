"""Start a component of Airflow in a container. With the argument ``init``, prepare the database, user and bucket.

The program writes the password from the environment into a file, because Airflow's simple auth manager reads the
passwords of its users from a file.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PASSWORDS = (
    Path(os.environ.get("AIRFLOW_HOME", "/opt/airflow")) / "simple_auth_manager_passwords.json.generated"
)
BUCKET_TRIES = 60


def main(arguments: list[str]) -> None:
    if arguments == ["init"]:
        make_bucket()
        arguments = ["db", "migrate"]
    PASSWORDS.write_text(json.dumps({"admin": os.environ["AIRFLOW_ADMIN_PASSWORD"]}))
    PASSWORDS.chmod(0o600)
    os.execvp("airflow", ["airflow", *arguments])


def make_bucket() -> None:
    """Create the bucket of the tables, if it does not exist.

    The function waits for the server, and fails at once if the server refuses the keys or the name of the bucket.
    """
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, region = os.environ["LAKE_BUCKET"], os.environ["AWS_REGION"]
    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT"], region_name=region)
    for tries_left in reversed(range(BUCKET_TRIES)):
        try:
            if not exists(client, bucket):
                client.create_bucket(Bucket=bucket, **location_of(region))
        except client.exceptions.BucketAlreadyOwnedByYou:
            return
        except (BotoCoreError, ClientError) as error:
            if not tries_left or status_of(error) in (400, 401, 403):
                raise SystemExit(f"The bucket {bucket} cannot be used: {error}") from error
            time.sleep(1)
        else:
            return


def exists(client: Any, bucket: str) -> bool:
    from botocore.exceptions import ClientError

    try:
        client.head_bucket(Bucket=bucket)
    except ClientError as error:
        if status_of(error) != 404:
            raise
        return False
    return True


def location_of(region: str) -> dict[str, Any]:
    """Return the region argument of a request that creates a bucket. S3 refuses its default region as an argument."""
    return {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}


def status_of(error: Exception) -> int:
    """Return the HTTP status of the response that caused an error; 0 if there was no response."""
    answer: dict[str, Any] = getattr(error, "response", None) or {}
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


if __name__ == "__main__":
    main(sys.argv[1:])
