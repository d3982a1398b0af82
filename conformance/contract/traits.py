"""Traits of operations, from spec/operations.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from conformance.contract.rules import SPEC, load_yaml


@dataclass(frozen=True)
class Traits:
    """Traits of one operation; those that do not apply are empty.

    `creates` and `changes` name a resource. `listed_by` and `read_by` are the operationIds of the list and
    the read that show it (an account: its balances); `subset_of` is the create whose fields an update takes.
    `once_per` names the resource on which it succeeds only once. `moves_money` maps balance members to the
    sign of their change. `shared`: it acts on resources that other clients use. `unique_pair` are request
    fields whose combination is unique in an account; `sets` are the members that a success sets.
    `draws_on_funds`: it needs an account with funds. `others_add`: other clients add to the list.
    `shows_balances`: the response holds an account's balances under the account's id.
    """

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
    msgspec.convert(load_yaml(SPEC / "operations.yaml")["operations"], dict[str, Traits])
)


def traits_of(operation: str | None) -> Traits:
    """Traits of an operation; NO_TRAITS if it is None or unknown."""
    return TRAITS.get(operation or "", NO_TRAITS)


#: Traits of a request that is no operation.
NO_TRAITS = Traits()

#: List -> the operation that adds to it.
ADDS_TO: Mapping[str, str] = MappingProxyType(
    {traits.listed_by: name for name, traits in TRAITS.items() if traits.listed_by}
)

#: Table under [samples] of the target file -> the operation whose body it describes.
SAMPLE_OPERATIONS: Mapping[str, str] = MappingProxyType(
    {sample: name for name, traits in TRAITS.items() for sample in traits.samples}
)
