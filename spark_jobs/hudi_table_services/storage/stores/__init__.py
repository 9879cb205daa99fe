"""Storage systems: local file systems, memory, HDFS and object stores."""
