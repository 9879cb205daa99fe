"""Types of the NumPy arrays in this package, by the kind of their elements."""

from typing import Any

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
"""One truth value per row."""

Integers = npt.NDArray[np.signedinteger[Any]]
"""Row numbers, codes and counts, of any width."""

Words = npt.NDArray[np.uint64]
"""Hashes and ranks. Their arithmetic is modulo 2^64."""

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]
