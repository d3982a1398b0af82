"""Purposes of accounts: checks that name the same one share its account and the resources in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS


@dataclass(frozen=True)
class Purpose:
    """The purpose of an account.

    `funded`: payouts draw on it; the target's funded account, where it names one. `marked`: random markers
    are in all its free texts. `business`: its beneficiary is one, where the server accepts that.
    `beside_wallets`: where no new account can be had, one with wallets of earlier checks will do. `common`:
    all lanes of a process share it, as no check looks for changes of what is in it. `sibling`: it is no other
    account of those that checks use. `spare`: no check makes wallets there, looks for them, or asks there
    for what is a sibling's. `operation`: only requests of that operation are sent there, and decide whether
    wallets matter."""

    name: str
    funded: bool = False
    marked: bool = False
    business: bool = False
    beside_wallets: bool = False
    common: bool = False
    sibling: bool = False
    spare: bool = False
    operation: str = ""

    def of(self, operation: str) -> Purpose:
        """Returns this purpose for requests of one operation, which may be creates of wallets."""
        return replace(self, operation=operation, spare=self.spare and beside_wallets(operation))


#: Valid requests.
SHARED = Purpose("shared", beside_wallets=True)
#: Payouts.
PAYOUTS = Purpose("payouts", funded=True, common=True)
#: Resources that other tenants ask for.
TENANT = Purpose("tenant", marked=True, beside_wallets=True)
SIBLING_TENANT = Purpose("sibling tenant", marked=True, business=True, beside_wallets=True, sibling=True)
#: Something to show for each read.
POPULATED = Purpose("populated", beside_wallets=True, common=True)
#: Any number of resources, which no check changes.
CREATED = Purpose("created", beside_wallets=True, common=True)
#: Lists whose elements are known.
LISTS = Purpose("lists", common=True)
#: Bodies that a server may accept or refuse.
HOSTILE = Purpose("hostile", beside_wallets=True)
#: Bodies that must be refused, and those of wallets: no wallet is there.
INVALID_BODIES = Purpose("invalid bodies", beside_wallets=True, spare=True)
WITHOUT_WALLETS = Purpose("invalid bodies, without wallets")
#: Requests that pass authentication, and those that must fail it where the operation has not succeeded.
AUTHENTICATION = Purpose("authentication", beside_wallets=True, spare=True)
UNTOUCHED = Purpose("authentication, untouched")


#: Resources of which an account takes one of each pair.
_UNIQUE = {traits.creates for traits in TRAITS.values() if traits.unique_pair}


def beside_wallets(operation: str) -> bool:
    """True if an operation can be judged where wallets are: its own resources are others."""
    return OPERATIONS[operation].resource not in _UNIQUE


def names_account(operation: str) -> bool:
    """True if the path of an operation names an account, whichever customer's it is."""
    return bool(operation) and "account_id" in OPERATIONS[operation].path_parameters


def purpose_of(operation: str, otherwise: Purpose = SHARED) -> Purpose:
    """The purpose of the account in which an operation can succeed."""
    return PAYOUTS if TRAITS[operation].draws_on_funds else otherwise
