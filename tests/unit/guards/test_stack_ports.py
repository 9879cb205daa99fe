"""Airflow stacks that start at the same time in separate processes get different ports."""

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[3] / "scripts"
PROGRAM = (
    "from airflow_stack.stack import free_ports; print(*free_ports(18080, 18793, 18794), flush=True); input()"
)


def test_a_port_is_reserved_for_one_process_before_the_process_listens() -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=SCRIPTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        ports = [port for process in running if process.stdout for port in process.stdout.readline().split()]
    finally:
        for process in running:
            process.communicate("\n")
    assert len(ports) == 9
    assert len(set(ports)) == 9
