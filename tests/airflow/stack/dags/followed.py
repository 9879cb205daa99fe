"""A DAG loads a table day by day. A watcher of the table starts a second DAG; partition keys start a third DAG."""

from airflow.sdk import DAG, PartitionedAssetTimetable, task
from days import FOLDER, days, load

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.watchers import HudiTableWatcher

TABLE = f"{FOLDER}/followed"
WATCHED = HudiAsset(TABLE, view="watched", watchers=[HudiTableWatcher(TABLE, poke_interval=1)])
LOADED = HudiAsset(TABLE, name="followed")

with days("followed"):
    load("followed", outlets=[LOADED], emit_partitions=True)

with DAG("read_new", schedule=[WATCHED], max_active_runs=1, is_paused_upon_creation=False):

    @task(inlets=[WATCHED])
    def read(**context):  # type: ignore[no-untyped-def]
        kept = context["asset_state_store"][WATCHED]
        hook = HudiHook(TABLE)
        window = hook.incremental_window(after=kept.get("until", ""))
        rows = [] if window.is_empty else hook.read_incremental(window, columns=["k"])["k"].to_pylist()
        kept.set("until", window.until)
        return rows

    read()

with DAG("by_partition", schedule=PartitionedAssetTimetable(assets=LOADED), is_paused_upon_creation=False):

    @task
    def tell(**context):  # type: ignore[no-untyped-def]
        return context["dag_run"].partition_key

    tell()
