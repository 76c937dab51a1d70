"""Small classes with slots, made in a quarter of the time that `dataclass` takes.

`dataclass` writes six functions for each class and compiles them in each process anew, which for
all our classes is longer than to read a small log. Only `__init__` need be written for each; here
the other functions are the same ones for all. What is made is a dataclass to everybody, `replace`
and `asdict` included. That `frozen` ones are not assigned to, the type checker sees; one that
has its own `__eq__` wants its own `__hash__`, too.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform

Class = TypeVar("Class", bound=type[Any])


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Class) -> Class:
    """As `dataclass(frozen=True, slots=True)`: equal by what it holds, and fit to be a key."""
    return _made(cls, _hash)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: Class) -> Class:
    """As `dataclass(slots=True)`: equal by what it holds now, and so no key."""
    return _made(cls, None)


def _made(cls: Class, hashed: Any) -> Class:
    made: Any = dataclass(slots=True, eq=False, repr=False)(cls)
    compared = [one.name for one in fields(made) if one.compare]
    made._compared = attrgetter(*compared or ["__class__"])
    given = {"__repr__": _repr, "__eq__": _equal, "__hash__": hashed}
    for name, function in given.items():
        if name not in cls.__dict__:
            setattr(made, name, function)
    return cast(Class, made)


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))
