"""Contents of Hudi's metadata table: keys, record values, log files, properties and index definitions."""
