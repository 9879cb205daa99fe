"""HFile version 3, the file format of Hudi's metadata table: sorted pairs of key and value in blocks."""
