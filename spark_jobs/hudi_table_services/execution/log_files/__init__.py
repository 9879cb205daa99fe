"""Read and write the rows in the blocks of log files."""
