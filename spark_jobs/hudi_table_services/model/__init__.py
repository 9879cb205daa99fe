"""Frozen values in Hudi's words. Standard library only, no I/O."""
