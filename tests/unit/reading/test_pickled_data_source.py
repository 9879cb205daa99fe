"""Spark plans a stream in a process that may lack the engine; the pickled data source brings the path of the engine."""

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

import hudi_table_services
from hudi_table_services.reading.data_source import HudiNativeDataSource

ENGINE = Path(hudi_table_services.__file__).parents[1]
LOAD = """
import importlib.util, os, pickle, sys

engine, pickled = sys.argv[1:]
sys.path[:] = [path for path in sys.path if os.path.realpath(path) != os.path.realpath(engine)]
assert importlib.util.find_spec("hudi_table_services") is None
with open(pickled, "rb") as file:
    source = pickle.load(file)
print(source.name(), source.options["path"], sys.modules["hudi_table_services"].__file__)
"""


def test_a_process_without_the_engine_can_load_a_data_source(tmp_path: Path) -> None:
    pickled = tmp_path / "source"
    pickled.write_bytes(cloudpickle.dumps(HudiNativeDataSource({"path": "/lake/t"})))
    command = [sys.executable, "-c", LOAD, str(ENGINE), str(pickled)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [
        "hudi_native",
        "/lake/t",
        str(ENGINE / "hudi_table_services" / "__init__.py"),
    ]
