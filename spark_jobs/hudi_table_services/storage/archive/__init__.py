"""The archived timeline on storage."""
