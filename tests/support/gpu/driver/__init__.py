"""The real CuPy without a GPU: a driver in C whose device memory is the host's, and launches on the PTX interpreter.

``redirect`` builds ``driver.c``, loads it, and lets the CUDA runtime inside CuPy jump to it. All else of CuPy is real:
pools, streams, events, RawModule, NVRTC, cooperative launches. ``launches`` runs each launch: kernels of dfmst in the
CPU's library or as PTX, CuPy's own as PTX. ``plugin`` is for ``pytest -p``. A pointer outside of all allocations is an
error. It cannot show cuDF on data (libcudf is compiled), the hardware's memory order, and speed.

``tests/cuda/test_real_cupy.py`` installs CuPy's wheel and runs it.
"""
