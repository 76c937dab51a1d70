"""Arithmetic on bytes and arrays, each with a plain twin; the only home of llvmlite."""
