"""shim"""
from hudi_table_services.storage.markers import MarkerStore
def rollback_instant(table, instant):
    m = MarkerStore(table.storage, instant.requested_time)
    for p in m.data_files(): table.storage.delete(p)
    table.timeline_store.remove(instant); m.delete(); table.storage.delete(f".hoodie/.heartbeat/{instant.requested_time}")
def finish_pending_rollbacks(table, timeline): pass
