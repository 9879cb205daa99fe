"""Immutable values, under Hudi's terms and names. The modules use no third-party library, and perform no I/O."""
