"""Watch a Hudi table for commits, and start DAGs after commits."""

from collections.abc import Sequence

from airflow.sdk import AssetWatcher

from airflow_hudi_provider.triggers.watcher import HudiTableWatcherTrigger


class HudiTableWatcher(AssetWatcher):
    """An asset watcher that fires an event after every N commits that any writer makes to a table.

    ::

        from airflow.sdk import DAG
        from airflow_hudi_provider.assets import HudiAsset
        from airflow_hudi_provider.watchers import HudiTableWatcher

        FLIGHTS = HudiAsset("s3://lake/flights", watchers=[HudiTableWatcher("s3://lake/flights", every_n_commits=4)])

        with DAG("cluster_flights", schedule=[FLIGHTS]):
            ...

    Clusterings and compactions change no rows and do not count, so a DAG that clusters does not start itself.
    The event's payload names the commits; see docs/assets.md.

    :param base_path: URI or absolute path of the table.
    :param name: name of the watcher. If several assets watch the same table, give each watcher a different name:
        Airflow merges equal triggers, and one trigger cannot store the state of two assets.
    :param every_n_commits: number of commits that cause an event. An event covers more commits if more commits
        completed between two polls.
    :param operations: write operations that count, such as ``upsert``. Default: all operations that change rows.
    :param from_beginning: also count the commits that are on the active timeline when watching begins.
    :param poke_interval: seconds between two polls.
    :param hudi_conn_id: connection of type ``hudi``.
    :param storage_conn_id: connection with credentials of the object store.
    """

    def __init__(
        self,
        base_path: str | None = None,
        *,
        name: str = "hudi",
        every_n_commits: int = 1,
        operations: Sequence[str] = (),
        from_beginning: bool = False,
        poke_interval: float = 60,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
    ) -> None:
        if base_path is None and hudi_conn_id is None:
            raise ValueError("A watcher needs base_path or hudi_conn_id.")
        trigger = HudiTableWatcherTrigger(
            base_path=base_path,
            hudi_conn_id=hudi_conn_id,
            storage_conn_id=storage_conn_id,
            watch_id=name,
            every_n_commits=every_n_commits,
            operations=operations,
            from_beginning=from_beginning,
            poke_interval=poke_interval,
        )
        super().__init__(name=name, trigger=trigger)
