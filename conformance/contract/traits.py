"""Traits of operations, from spec/operations.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from conformance.contract.documents import load


@dataclass(frozen=True)
class Traits:
    """Traits of one operation, as spec/operations.schema.json describes them; those that do not apply are
    empty."""

    creates: str = ""
    changes: str = ""
    initial: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    listed_by: str = ""
    read_by: str = ""
    subset_of: str = ""
    once_per: str = ""
    moves_money: Mapping[str, int] = field(default_factory=dict)
    shared: bool = False
    free_text: str = ""
    samples: tuple[str, ...] = ()
    under_development: bool = False
    unique_pair: tuple[str, ...] = ()
    sets: Mapping[str, Any] = field(default_factory=dict)
    draws_on_funds: bool = False
    statuses: tuple[str, ...] = ()
    others_add: bool = False
    shows_balances: bool = False

    @property
    def once(self) -> bool:
        """True if a second valid request may be refused because the first succeeded."""
        return bool(self.once_per)

    @property
    def disables(self) -> bool:
        """True if a success disables the resource."""
        return self.sets.get("status") == "disabled"

    @property
    def shown_only_by_read(self) -> bool:
        """True if the created resource is in no list and can only be read by id."""
        return bool(self.creates and self.read_by and not self.listed_by)


#: Traits by operationId, in the order of openapi.yaml.
TRAITS: Mapping[str, Traits] = MappingProxyType(
    msgspec.convert(load("operations.yaml")["operations"], dict[str, Traits])
)

#: Kind of resource -> the operation that creates it.
CREATES: Mapping[str, str] = MappingProxyType(
    {traits.creates: name for name, traits in TRAITS.items() if traits.creates}
)

#: The operations that change a resource.
CHANGING = tuple(name for name, traits in TRAITS.items() if traits.changes)


def traits_of(operation: str | None) -> Traits:
    """Traits of an operation; NO_TRAITS if it is None or unknown."""
    return TRAITS.get(operation or "", NO_TRAITS)


def create_read_by(operation: str) -> str:
    """The operation that creates what another one reads. Raises StopIteration for one that reads nothing."""
    return next(create for create in CREATES.values() if TRAITS[create].read_by == operation)


#: Traits of a request that is no operation.
NO_TRAITS = Traits()

#: Table under [samples] of the target file -> the operation whose body it describes.
SAMPLE_OPERATIONS: Mapping[str, str] = MappingProxyType(
    {sample: name for name, traits in TRAITS.items() for sample in traits.samples}
)
