"""Build and drop partitions of a metadata table. The caller has the table lock.

Only `commits.commit_point` and the jobs in `jobs.metadata_table` call this package.
"""
