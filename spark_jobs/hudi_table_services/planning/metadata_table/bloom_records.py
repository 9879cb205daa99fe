"""Build the changes of the metadata table's partition `bloom_filters`, which has a bloom filter of each base file.

The changes follow HoodieMetadataPayload (Hudi 1.2).
"""

from collections.abc import Iterable, Iterator

from hudi_table_services.hudi_format.metadata_table.keys import bloom_filter_key
from hudi_table_services.model.metadata_table import (
    BaseFileBloom,
    DeletedKey,
    FileBloomFilter,
    MetadataRecord,
    RecordType,
)


def bloom_filter_records(blooms: Iterable[BaseFileBloom]) -> Iterator[MetadataRecord]:
    """Yield one record for each new base file. The function reads `blooms` once, and one bloom filter at a time."""
    for bloom in blooms:
        payload = FileBloomFilter(
            type_code=bloom.type_code,
            timestamp=bloom.base_file.instant_time,
            bloom_filter=bloom.text.encode(),
        )
        key = bloom_filter_key(bloom.partition_path, bloom.base_file.file_name)
        yield MetadataRecord(key=key, record_type=RecordType.BLOOM_FILTER, payload=payload)


def deleted_bloom_filters(files_by_partition: Iterable[tuple[str, Iterable[str]]]) -> Iterator[DeletedKey]:
    """Yield a deletion of the bloom filter of each deleted base file.

    Args:
        files_by_partition: partition paths with the names of the deleted files.
    """
    for partition_path, file_names in files_by_partition:
        for file_name in file_names:
            if not file_name.startswith("."):  # log files have no bloom filter
                yield DeletedKey(bloom_filter_key(partition_path, file_name))
