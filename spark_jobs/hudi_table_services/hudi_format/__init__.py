"""Bytes to values and back, as Hudi lays them out. Opens nothing."""
