"""How a formula psi(t, q, p) depends on t at fixed q and p, as one number for kernels and utilities alike.

A proportional one is a line through 0 whose slope falls, and bends upwards, as q grows; an affine one is any line.
"""

PROPORTIONAL, AFFINE, CONVEX, CONCAVE, UNKNOWN = 0.0, 1.0, 2.0, 3.0, 4.0
