"""Switches of the services that Hudi's writer runs itself. In this project, each service runs in a separate task."""

INLINE_SWITCHES = {
    "hoodie.clean.automatic": "CleanOperator or clean.py",
    "hoodie.clean.async": "CleanOperator or clean.py",
    "hoodie.clean.async.enabled": "CleanOperator or clean.py",
    "hoodie.archive.automatic": "ArchiveOperator or archive.py",
    "hoodie.archive.async": "ArchiveOperator or archive.py",
    "hoodie.clustering.inline": "ClusteringOperator or run_clustering.py",
    "hoodie.clustering.async.enabled": "ClusteringOperator with every_n_commits, or run_clustering.py",
    "hoodie.compact.inline": "CompactionOperator or run_compaction.py",
    "hoodie.datasource.hive_sync.enable": "HudiCatalogSyncOperator or sync_catalog.py",
    "hoodie.datasource.meta.sync.enable": "HudiCatalogSyncOperator or sync_catalog.py",
}
"""Maps each key to the task that replaces the switch."""

CATALOG_SWITCHES = ("hoodie.datasource.hive_sync.enable", "hoodie.datasource.meta.sync.enable")
"""Switches of the sync of a catalog."""

AUTOMATIC_SWITCHES = ("hoodie.clean.automatic", "hoodie.archive.automatic")
"""Switches that are on by default in Hudi."""
