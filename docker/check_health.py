"""Exit with code 0 if a service is healthy.

Usage: ``check_health.py COMPONENT`` for a component of Airflow, or ``check_health.py port:NUMBER`` for a service that
listens on a port of this container.
"""

import json
import os
import socket
import sys
import urllib.request

TIMEOUT_S = 8.0


def main(service: str) -> int:
    kind, _, port = service.partition(":")
    if kind == "port":
        host = socket.gethostname()
        with socket.create_connection((host, int(port)), TIMEOUT_S):
            return 0
    address = os.environ["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"].removesuffix("/execution/")
    with urllib.request.urlopen(f"{address}/api/v2/monitor/health", timeout=TIMEOUT_S) as answer:
        health = json.load(answer)
    return 0 if health[kind]["status"] == "healthy" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
