"""Every compiled loop. Imports numpy and Numba only, knows no class of tailwise.

Kernels take arrays and NamedTuples of arrays, never validate, print, draw random numbers or read the clock.
"""
