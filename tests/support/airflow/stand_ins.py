"""Programs that replace spark-submit in tests of how a task reacts to the end of a job."""

import sys
from pathlib import Path

_PROGRAM = """\
#!{python}
import json, os, sys
sys.path[:0] = {path!r}
arguments = sys.argv[1:]
uri = arguments[arguments.index("--request") + 1]
request = json.load(open(uri))
result_path = request["result_path"]
base_path = request["base_path"]

def commit(**more):
    from hudi_table_services.storage.stores.local import LocalStorage
    from hudi_table_services.model.write_stat import REQUEST_ID_KEY
    from hudi_table_services.model.file_group import FileGroupId
    from support.small_tables import SmallTable
    exists = os.path.exists(base_path + "/.hoodie/hoodie.properties")
    table = opened() if exists else SmallTable(LocalStorage(base_path))
    return table.commit(FileGroupId("city=a", "a-0"), extra={{REQUEST_ID_KEY: request["request_id"]}}, **more)

def begin():
    from datetime import datetime, timezone
    from support.fixed_clock import FixedClock
    from hudi_table_services.storage.locks.heartbeat import Heartbeat
    from hudi_table_services.storage.stores.local import LocalStorage
    from support.small_tables import SmallTable
    storage = LocalStorage(base_path)
    pending = SmallTable(storage, clock=FixedClock(datetime.now(timezone.utc))).begin()
    Heartbeat(storage, pending.requested_time, owner=request["request_id"]).start()

def opened():
    from support.fixed_clock import FixedClock
    from hudi_table_services.storage.stores.local import LocalStorage
    from hudi_table_services.storage.table_store import read_table_config
    from support.small_tables import SmallTable
    from datetime import datetime, timezone
    storage = LocalStorage(base_path)
    version = read_table_config(storage).table_version
    return SmallTable.existing(storage, version, FixedClock(datetime.now(timezone.utc)))

def result(**fields):
    from hudi_table_services.contract.result import JobResult, Outcome
    fields["outcome"] = Outcome(fields["outcome"])
    fields["service"] = fields["report"].service if fields.get("report") else "writing"
    text = JobResult(request_id=request["request_id"], base_path=base_path, **fields).to_json()
    open(result_path, "w").write(text)

def failed(kind, retryable):
    from hudi_table_services.contract.result import JobError
    result(outcome="failed", error=JobError(kind=kind, message="It broke.", retryable=retryable, hint="Fix it."))

{body}
"""


def stand_in(folder: Path, body: str) -> str:
    """Write a program that reads the request and runs the body; return its path."""
    path = folder / "spark-submit"
    tests = Path(__file__).parents[2]
    path_of_imports = [str(tests), str(tests.parent / "spark_jobs")]
    program = _PROGRAM.format(python=sys.executable, path=path_of_imports, body=body)
    path.write_text(program)
    path.chmod(0o755)
    return str(path)
