"""The site of docs/: read docstrings from sources, and gather, build and check the pages (docs/adr/0032)."""
