"""Frozen values, with Hudi's terms and names. The modules use only the standard library, and perform no I/O."""
