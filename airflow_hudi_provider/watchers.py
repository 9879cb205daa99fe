"""Watch a Hudi table for commits that others make, and start DAGs by them."""

from collections.abc import Sequence

from airflow.sdk import AssetWatcher

from airflow_hudi_provider.triggers.watcher import HudiTableWatcherTrigger


class HudiTableWatcher(AssetWatcher):
    """An asset watcher: its asset has an event for every so many commits, whoever makes them.

    ::

        FLIGHTS = HudiAsset("s3://lake/flights", watchers=[HudiTableWatcher("s3://lake/flights", every_n_commits=4)])

        with DAG("cluster_flights", schedule=[FLIGHTS]):
            ...

    Clusterings and compactions change no rows and do not count, so a DAG that clusters does not start itself.
    The event's payload says which commits they are; see docs/assets.md.

    :param base_path: URI or absolute path of the table.
    :param name: of the watcher, unique among those of one table; tells triggers of several assets apart.
    :param every_n_commits: one event for as many commits, or more where they came between two looks.
    :param operations: only writes of these, such as ``upsert``; empty: all that change rows.
    :param from_beginning: tell, when watching begins, what the active timeline holds already.
    :param poke_interval: seconds between two looks.
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
