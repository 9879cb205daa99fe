"""``.hoodie_partition_metadata`` (HoodiePartitionMetadata)."""

from datetime import datetime


def encode_partition_metadata(commit_time: str, depth: int, now: datetime) -> bytes:
    date = now.strftime("%a %b %d %H:%M:%S UTC %Y")
    return f"#partition metadata\n#{date}\ncommitTime={commit_time}\npartitionDepth={depth}\n".encode()
