"""Frozen values, with the terms and names of Hudi. The modules use the standard library only and do no I/O."""
