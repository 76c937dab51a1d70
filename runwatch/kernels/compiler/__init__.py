"""Kernels, written in a little of Python, put into the words of LLVM."""
