"""Changes of the partition `bloom_filters`: the bloom filter of each base file (HoodieMetadataPayload, Hudi 1.2)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_table_services.hudi_format.metadata_table.keys import bloom_filter_key
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import DeletedKey, FileBloomFilter, MetadataRecord, RecordType


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileBloom:
    """The bloom filter in the footer of a new base file.

    Attributes:
        text: the base64 text in the footer.
        type_code: `SIMPLE` or `DYNAMIC_V0`.
    """

    partition_path: str
    base_file: BaseFile
    text: str
    type_code: str


def bloom_filter_records(blooms: Iterable[BaseFileBloom]) -> Iterator[MetadataRecord]:
    """Yield the records of new base files. The bloom filters are read once, one after the other."""
    for bloom in blooms:
        payload = FileBloomFilter(
            type_code=bloom.type_code,
            timestamp=bloom.base_file.instant_time,
            bloom_filter=bloom.text.encode(),
        )
        key = bloom_filter_key(bloom.partition_path, bloom.base_file.file_name)
        yield MetadataRecord(key=key, record_type=RecordType.BLOOM_FILTER, payload=payload)


def deleted_bloom_filters(files_by_partition: Iterable[tuple[str, Iterable[str]]]) -> Iterator[DeletedKey]:
    """Yield the keys of deleted base files.

    Args:
        files_by_partition: partition paths with names of files.
    """
    for partition_path, file_names in files_by_partition:
        for file_name in file_names:
            yield DeletedKey(bloom_filter_key(partition_path, file_name))
