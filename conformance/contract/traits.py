"""Effects of operations on resources, from spec/operations.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from conformance.contract.rules import SPEC, load_yaml


@dataclass(frozen=True)
class Traits:
    """Traits of one operation; a trait that does not hold is empty.

    `creates` and `changes` name a resource. `listed_by`, `read_by` and `subset_of` are operationIds: the list
    that shows what was made, what finds it by its id (of an account: its balances), the operation of whose
    body any subset is taken. `once_per` names the resource of which a success uses something up, so that the
    next valid request may be refused for that alone. `moves_money` maps members of a balance to the direction
    (1, -1) in which money that is moved changes them. `shared`: it works in what belongs to others, too.
    `unique_pair` are the request fields whose values together an account has once; `sets` the members that a
    success gives a value. `draws_on_funds`: it needs an account with funds. `others_add`: the list shows what
    others add, too. `shows_balances`: the answer is an account's balances, known by the account's id.
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
        """True if the operation succeeds once in an account: afterwards it may be refused for that alone."""
        return bool(self.once_per)

    @property
    def disables(self) -> bool:
        """True if a success ends the resource's use."""
        return self.sets.get("status") == "disabled"

    @property
    def shown_only_by_read(self) -> bool:
        """True if the created resource is in no list and only found by its id."""
        return bool(self.creates and self.read_by and not self.listed_by)


def _traits(stated: Mapping[str, Any]) -> Traits:
    tuples = {name: tuple(stated.get(name, ())) for name in ("samples", "unique_pair")}
    return Traits(**{**stated, **tuples})


#: The traits of every operation, by operationId, in the order of openapi.yaml.
TRAITS: Mapping[str, Traits] = MappingProxyType(
    {name: _traits(stated) for name, stated in load_yaml(SPEC / "operations.yaml")["operations"].items()}
)


def traits_of(operation: str | None) -> Traits:
    """The traits of an operation; those of none where it is None or unknown."""
    return TRAITS.get(operation or "", NO_TRAITS)


#: The traits of what is no operation.
NO_TRAITS = Traits()

#: List -> the operation that adds to it.
ADDS_TO: Mapping[str, str] = MappingProxyType(
    {traits.listed_by: name for name, traits in TRAITS.items() if traits.listed_by}
)

#: The table under [samples] of the target file -> the operation to whose body it belongs.
SAMPLE_OPERATIONS: Mapping[str, str] = MappingProxyType(
    {sample: name for name, traits in TRAITS.items() for sample in traits.samples}
)
