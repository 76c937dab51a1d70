"""Puts kernels into LLVM's text: the little of Python that they are written in, and no more of it.

numba can do far more and takes its time for it: 40 seconds of a core for these kernels, where this
takes five, and a second to be loaded by whoever calls them. Here kinds are known from the
arguments on, all kernels are one module that LLVM goes over once, and what comes of it is called by
addresses. The plain twins, which run the same text, are the law that it has to keep.
"""
