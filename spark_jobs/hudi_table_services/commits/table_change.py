"""Describe the change of a table that completes an instant, with the facts that the metadata table stores about it."""

from dataclasses import dataclass
from typing import TypeAlias

from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import encode_clean_metadata
from hudi_table_services.model.table_service_plans import CleanMetadata
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata

_NO_FACTS = CollectedFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """A write, a clustering or a compaction.

    Attributes:
        content: content of the completed file.
        facts: facts that the tasks of the write collected about the new files.
    """

    content: bytes
    metadata: CommitMetadata
    facts: CollectedFacts = _NO_FACTS


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedFiles:
    """A clean, which has deleted its files."""

    content: bytes
    metadata: CleanMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFiles:
    """A change of the timeline only: a savepoint, a rollback or a restore.

    Rollbacks and restores also delete files. But before that, `commit_point.prepare_deletion` makes sure that the
    metadata table does not list these files.
    """

    content: bytes


TableChange: TypeAlias = NewFiles | CleanedFiles | NoFiles


def new_files(metadata: CommitMetadata, version: TableVersion, facts: CollectedFacts = _NO_FACTS) -> NewFiles:
    """The change of a write, clustering or compaction.

    The function encodes the commit metadata, which takes time. So call it before you take the lock. If only checks
    under the lock show which metadata to commit, call it under the lock.
    """
    content = encode_commit_metadata(metadata, version)
    return NewFiles(content=content, metadata=metadata, facts=facts)


def cleaned_files(metadata: CleanMetadata) -> CleanedFiles:
    """The change of a clean."""
    return CleanedFiles(content=encode_clean_metadata(metadata), metadata=metadata)
