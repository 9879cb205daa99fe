"""Read a table for its views: properties, timeline, files, partitions, schema, one commit. Nothing is written."""
