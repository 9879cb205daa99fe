"""The site of docs/: what is read from sources, how pages are gathered, built and checked (docs/adr/0032)."""
