"""Options of jobs. A test changes some of the values; all other values are the defaults of their keys."""

from dataclasses import replace
from typing import Any

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.model.archival import ArchivalOptions
from hudi_table_services.model.cleaning import CleanOptions
from hudi_table_services.model.clustering import ClusteringOptions
from hudi_table_services.model.file_sizing import FileSizingOptions
from hudi_table_services.options.archival import DEFAULT_ARCHIVAL
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.clustering import DEFAULT_CLUSTERING
from hudi_table_services.options.writing import resolve_options

_CLEANING = resolve_clean_options(CleanRequest(base_path="/t")).clean
_FILE_SIZING = resolve_options(UpsertRequest(base_path="/t")).file_sizing


def archival_options(**changes: Any) -> ArchivalOptions:
    return replace(DEFAULT_ARCHIVAL, **changes)


def clean_options(**changes: Any) -> CleanOptions:
    return replace(_CLEANING, **changes)


def clustering_options(**changes: Any) -> ClusteringOptions:
    return replace(DEFAULT_CLUSTERING, **changes)


def file_sizing_options(**changes: Any) -> FileSizingOptions:
    """Options for which footers have a constant size, so that a reader can calculate file sizes by hand."""
    return replace(_FILE_SIZING, **{"footer_bytes_per_record": 0.0, **changes})
