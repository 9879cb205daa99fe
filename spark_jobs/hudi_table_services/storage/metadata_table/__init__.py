"""The files of a metadata table: read records, find out whether the table is complete, and write data files."""
