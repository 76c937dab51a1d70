"""blake2b as `hashlib` has it, without the OpenSSL that `hashlib` loads beside it and that takes
longer to load than a small log to read."""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that keeps it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
