"""Rules by which readers and compactions merge the versions of a record in a merge-on-read table."""
