"""The arrays that functions take and give, by what they hold."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
StateArray = npt.NDArray[np.int8]
