"""Start a component of Airflow in a container. With the argument ``init``, prepare the database, user and bucket.

A component reads its password from the environment, because Airflow's simple users have their passwords in a file.
"""

import json
import os
import sys
import time
from pathlib import Path

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
    """Create the bucket of the tables. An existing bucket is left as it is."""
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT"], region_name=os.environ["AWS_REGION"])
    for tries_left in reversed(range(BUCKET_TRIES)):
        try:
            client.create_bucket(Bucket=os.environ["LAKE_BUCKET"])
        except client.exceptions.BucketAlreadyOwnedByYou:
            return
        except (BotoCoreError, ClientError):
            if not tries_left:
                raise
            time.sleep(1)
        else:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
