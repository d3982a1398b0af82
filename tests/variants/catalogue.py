"""The conforming servers: which choices each makes, and what goes into its target file."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from conformance.contract.operations import OPERATIONS
from conformance.reference.app import system_clock
from conformance.reference.behaviour import Behaviour
from conformance.reference.seed import Seeded
from conformance.reference.store import Store
from tests.variants.surroundings import (
    PAYEE,
    Folded,
    MethodsNotImplemented,
    NoPayins,
    OneAtATime,
    PlainNotFound,
    RateLimited,
    aged,
    crowded_customer,
    crowded_neighbour,
    vetted_payee,
)

from . import (
    answers,
    bodies,
    databases,
    demands,
    jobs,
    lists,
    networks,
    oddities,
    payments,
    policies,
    resources,
    routing,
)
from . import authentication as auth
from .choice import BREAKS, CHOICES, compose

Wrap = Callable[[httpx.BaseTransport], httpx.BaseTransport]
Tables = dict[str, Any]
Fill = Callable[[Store, Seeded], None]


@dataclass(frozen=True)
class Variant:
    """A conforming server.

    `wrap` puts something between client and server, `ahead` are seconds that its clock is off, `change` edits
    the target file, `fill` puts into the store what was there before the run. Rules may stay inconclusive on
    the operations of `unreached` only.
    """

    name: str
    choices: tuple[type[Behaviour], ...]
    wrap: Wrap | None = None
    ahead: float = 0.0
    change: Callable[[Tables], Tables] | None = None
    unreached: tuple[str, ...] = ()
    limits: dict[str, Any] = field(default_factory=dict)
    fill: Fill = aged

    def behaviour(self) -> Behaviour:
        return compose(*self.choices)

    def clock(self) -> int:
        return system_clock() + int(self.ahead * 1_000_000)

    @property
    def breaks(self) -> set[str]:
        """The implied rules that it breaks."""
        return {rule for choice in self.choices for rule in BREAKS[choice]}


# ---------------------------------------------------------------------- target files


def _payins_off(tables: Tables) -> Tables:
    return {**tables, "features": {"payins": False}}


def _payouts_off(tables: Tables) -> Tables:
    return {**tables, "features": {"payins": True, "payouts": False}}


def _within_ten_seconds(tables: Tables) -> Tables:
    return {**tables, "limits": {"shows_within": 10}}


def _payee(tables: Tables) -> Tables:
    return {**tables, "primary": {**tables["primary"], **PAYEE}}


def _style(style: str) -> Callable[[Tables], Tables]:
    return lambda tables: {**tables, "lists": {"array_style": style}}


def _british(tables: Tables) -> Tables:
    """Target keys for a server that works in Britain alone."""
    return {
        **tables,
        "samples": {
            "beneficiary": {"country_code": "GB"},
            "payout_destination": {
                "bank_account": {"country": "GB", "currency": "GBP", "account_number": "31926819"},
                "wallet": {"country": "GB", "currency": "GBP"},
            },
            "payout": {"amount": "25.00", "currency": "GBP"},
            "virtual_account": {"currency": "GBP"},
            "wallet": {"pairs": [["BTC", "bitcoin"], ["ETH", "ethereum"], ["USDC", "polygon"]]},
            "payin": {"currency": "GBP", "payment_method": "bank_transfer"},
        },
    }


class BritainOnly(Behaviour):
    """Takes British countries, pounds and three kinds of wallets only; the amount has a minimum."""

    def check_country(self, ctx: Any, field: Any, value: str) -> None:
        super().check_country(ctx, field, value)
        if value != "GB":
            raise self.invalid(ctx, field, "unsupported", "is not served")

    def check_currency(self, ctx: Any, field: Any, value: str) -> None:
        super().check_currency(ctx, field, value)
        if value != "GBP":
            raise self.invalid(ctx, field, "unsupported", "is not served")

    def check_amount(self, ctx: Any, field: Any, value: str) -> None:
        super().check_amount(ctx, field, value)
        if float(value) < 5:
            raise self.invalid(ctx, field, "too_small", "is too small")

    def check_wallet_pair(self, ctx: Any) -> None:
        pair = (ctx.values.get("currency"), ctx.values.get("network"))
        if pair not in (("BTC", "bitcoin"), ("ETH", "ethereum"), ("USDC", "polygon")):
            super().check_wallet_pair(ctx)
            raise self.invalid(ctx, next(iter(self.fields(ctx))), "unsupported", "is not served")


BREAKS[BritainOnly] = ()


VARIANTS: tuple[Variant, ...] = (
    Variant("reference", ()),
    Variant(
        "frameworks",
        (
            bodies.ErrorsByField,
            bodies.CodesInAnyCase,
            bodies.SpacesTrimmed,
            bodies.AnyAddress,
            resources.AlwaysOk,
            resources.UuidIds,
            resources.Milliseconds,
            lists.NewestFirst,
            lists.OnePageAtLeast,
            lists.BroughtIntoRange,
            auth.ValidatesFirst,
            auth.AnyUuid,
            resources.CharsetDeclared,
            lists.OddFiltersMatchNothing,
            resources.SeveralDefaults,
        ),
    ),
    Variant(
        "strict",
        (
            bodies.NoUnknownFields,
            bodies.StrictJson,
            bodies.JsonDeclared,
            bodies.SyntaxChecked,
            bodies.NoNulls,
            bodies.AmountsInCents,
            auth.HexadecimalNonces,
            auth.NoBearerBeside,
            auth.BearerNamed,
            auth.KeysByTheirLetters,
            auth.NoKeysElsewhere,
            auth.UnspecifiedCodes,
            resources.NoCards,
            resources.FiatDestinationsOnly,
            resources.DetailsDemanded,
            resources.DisabledUnpaid,
            resources.DisabledOnce,
            resources.FundsDemanded,
            lists.PagesBeyondRefused,
            lists.OneStatusOnly,
            resources.WholeSeconds,
            oddities.SmallBodies,
            oddities.PlainTexts,
        ),
    ),
    Variant(
        "lenient",
        (
            bodies.TerseErrors,
            bodies.SurrogatesReplaced,
            bodies.AnyDecimal,
            bodies.NoBodyIsEmpty,
            bodies.LengthInUtf16,
            auth.SignaturesInAnyCase,
            auth.EqualJsonReplays,
            auth.NoBodiesOnGet,
            resources.PayoutsOnCredit,
            resources.SharedBankDetails,
            resources.FurtherFields,
            resources.InapplicableLeftOut,
            resources.NumericIds,
            lists.FirstParameterCounts,
            resources.BalancesFromTheStart,
            resources.TrailingZeros,
            oddities.RepeatedHeaders,
        ),
    ),
    Variant(
        "keys of the organization",
        (
            auth.KeysOfOrganization,
            auth.RefusalsRemembered,
            auth.NonceBeforeSignature,
            auth.NoncesOfAll,
            resources.ReplaysMarked,
            resources.UlidIds,
            oddities.OtherWords,
        ),
    ),
    Variant(
        "signature first",
        (
            auth.SignatureBeforeTimestamp,
            auth.ForeignAccountForbidden,
            auth.KeyFirst,
            resources.AcceptedForLater,
            resources.OrderOfHashes,
            resources.SparseBankDetails,
            resources.UpdatedAfterCreated,
            resources.StoredMasks,
            resources.Nanoseconds,
            oddities.OddStatuses,
        ),
    ),
    Variant(
        "rewritten answers",
        (
            resources.AsciiAnswers,
            resources.WholeListItems,
            auth.AnyUuid,
            auth.KeysBeforeResources,
            lists.OnePageAtLeast,
        ),
        wrap=Folded,
    ),
    Variant("commas", (lists.StatusesWithCommas, lists.BroughtIntoRange), change=_style("comma")),
    Variant("brackets", (lists.StatusesInBrackets, lists.PagesBeyondRefused), change=_style("brackets")),
    Variant("fast clock", (resources.WholeSeconds, oddities.WhiteSpace), ahead=40),
    Variant("slow clock", (resources.Milliseconds,), ahead=-40),
    Variant("no date", (resources.NoDate,)),
    Variant("rate limited", (resources.AlwaysOk,), wrap=RateLimited),
    Variant("one at a time", (bodies.TerseErrors,), wrap=OneAtATime),
    Variant("payins off", (resources.FurtherFields,), wrap=NoPayins, change=_payins_off),
    Variant("payins not built", (), wrap=NoPayins, unreached=("createPayin",)),
    Variant("payouts off", (resources.FundsDemanded,), change=_payouts_off),
    Variant("plain web server", (bodies.ErrorsByField, oddities.SmallBodies), wrap=PlainNotFound),
    Variant("Britain only", (BritainOnly, resources.DetailsDemanded), change=_british),
    Variant("pair once", (resources.PairOncePerOrganization,), unreached=("createWallet", "listWallets")),
    Variant(
        "settles",
        (jobs.BalancesSettle, jobs.JobsVerify, jobs.RowsTouched, answers.MembersThatChange),
    ),
    Variant(
        "busy", (jobs.OtherClients, jobs.BalancesSettle, jobs.StatusesReviewed, answers.MembersEverywhere)
    ),
    Variant(
        "policies",
        (
            policies.PayeesReviewed,
            policies.InTheRed,
            policies.FrozenWhenDisabled,
            policies.BodyBeforeKey,
            policies.SecondsInLists,
            policies.LongOddIds,
            policies.MembersWithin,
        ),
        unreached=("disableBeneficiary",),
    ),
    Variant(
        "few of each",
        (policies.FewOfEach, policies.DailyLimit),
        unreached=("createPayout",),
    ),
    Variant("same payout once", (policies.SamePayoutOnce,), unreached=("createPayout",)),
    Variant("reads behind", (policies.ReadsBehind,)),
    Variant("others pay", (jobs.OthersPay, jobs.JobsVerify)),
    Variant(
        "cut", (answers.MillisecondsCut, jobs.ListsSoon, answers.NullBankDetails, answers.ShortListItems)
    ),
    Variant("rounded", (answers.MillisecondsRounded, jobs.ReadsFromReplicas, answers.EmbeddedListForm)),
    Variant("late", (jobs.ListsLate,)),
    Variant("very late", (jobs.ListsVeryLate,), change=_within_ten_seconds),
    Variant("vetted payees", (policies.VettedPayees,), change=_payee, fill=vetted_payee),
    Variant("lists in turn", (jobs.ListsInTurn, answers.DigitsByMethod)),
    Variant("reads in turn", (jobs.ReadsInTurn, jobs.StatusesMove)),
    Variant(
        "nobody twice",
        (
            demands.UniqueNames,
            demands.UniquePeople,
            demands.UniqueBankAccounts,
            demands.UniqueLabels,
            demands.SecondDefaultRefused,
        ),
    ),
    Variant(
        "payment network",
        (
            demands.TitlesListed,
            demands.TaxIdsOfAForm,
            demands.LatinNames,
            demands.NamesWithoutDigits,
            demands.EmailsInLowerCase,
            demands.PhonesAsE164,
            demands.BankAccountsFound,
            answers.ScaledReplays,
        ),
        wrap=MethodsNotImplemented,
    ),
    Variant(
        "autoincrement",
        (
            databases.SerialIds,
            databases.DatabaseAhead,
            databases.LastChangedFirst,
            databases.UnchangedStays,
            databases.DisabledStays,
            databases.EmptyKeyIsNone,
            routing.SpellingsServed,
            payments.EmptyIsNull,
            payments.FeesTaken,
            lists.DatesInUtc,
        ),
    ),
    Variant(
        "what is there",
        (
            databases.AccountsFound,
            databases.PeopleFound,
            databases.VirtualAccountsFound,
            databases.DatabaseBehind,
            databases.NanosecondsThenMicroseconds,
            databases.ByName,
            databases.KeysEverywhere,
            routing.UndocumentedReads,
            payments.ReservedOnApproval,
            payments.OtherWordsForMethods,
            auth.NonceFirst,
        ),
    ),
    Variant("gets from a replica", (databases.GetsFromReplica,)),
    Variant(
        "bank",
        (
            payments.BankDetailsChecked,
            payments.FittingFieldsOnly,
            payments.AddressesChecked,
            payments.AsciiTexts,
            payments.WalletCodesInAnyCase,
            payments.SeveralAddresses,
            payments.DollarsInCents,
            routing.PathsNotImplemented,
            bodies.NullErrors,
        ),
    ),
    Variant(
        "quotas",
        (payments.FewPeople, payments.FewVirtualAccounts, payments.FewPayouts),
        unreached=("createPayout", "updateBeneficiary", "getAccountBalances"),
    ),
    Variant("few accounts", (payments.FewAccounts,), unreached=tuple(OPERATIONS)),
    Variant("furnished", (jobs.AccountsFurnished,)),
    Variant("furnished later", (jobs.AccountsFurnishedLater,)),
    Variant("first default stays", (demands.FirstDefaultStays,)),
    Variant("crowded customer", (), fill=crowded_customer),
    Variant("crowded neighbour", (lists.NewestFirst,), fill=crowded_neighbour),
    *(Variant(name, (), wrap=between) for name, between in networks.BETWEEN.items()),
    Variant("limited behind authentication", (networks.LimitedBehindAuthentication,)),
    Variant("alike in all answers", (networks.LikeAllAnswers,)),
    Variant("implied otherwise", (auth.KeysOptional, bodies.UnassignedCodes, bodies.OptionalTypesIgnored)),
)


#: Choices of which a server can make one only.
EXCLUSIVE = (
    {
        "WholeSeconds",
        "Milliseconds",
        "Nanoseconds",
        "TrailingZeros",
        "MillisecondsCut",
        "MillisecondsRounded",
        "SecondsInLists",
        "DigitsByMethod",
        "NanosecondsThenMicroseconds",
    },
    {"ListsSoon", "ListsLate", "ListsInTurn", "GetsFromReplica", "DatabaseAhead"},
    {"ReadsFromReplicas", "ReadsBehind", "ReadsInTurn", "GetsFromReplica", "DatabaseAhead"},
    {"SeveralDefaults", "SecondDefaultRefused", "FirstDefaultStays"},
    {"AccountsFurnished", "AccountsFurnishedLater"},
    {"UuidIds", "NumericIds", "UlidIds", "LongOddIds", "SerialIds"},
    {"NewestFirst", "OrderOfHashes", "LastChangedFirst", "ByName"},
    {"StatusesWithCommas", "StatusesInBrackets"},
    # Authentication in another order, and bodies of errors in another form.
    {"SignatureBeforeTimestamp", "NonceBeforeSignature", "NonceFirst"},
    {"ErrorsByField", "TerseErrors", "NullErrors"},
    # Ignored as malformed, or refused.
    {"OddFiltersMatchNothing", "DatesInUtc"},
    # Stages in another order.
    {"ValidatesFirst", "KeyFirst", "KeysBeforeResources"},
)

#: Choice -> the change of the target file that goes with it.
DECLARED = {"StatusesWithCommas": _style("comma"), "StatusesInBrackets": _style("brackets")}

#: Wrappers that may stand between the suite and a drawn server.
BETWEEN: dict[str, Wrap] = {
    **networks.BETWEEN,
    "folded": Folded,
    "rate limited": RateLimited,
    "one at a time": OneAtATime,
    "plain not found": PlainNotFound,
    "methods not implemented": MethodsNotImplemented,
}


def drawn(seed: int) -> Variant:
    """A server that makes three to eight choices at random, behind up to two things that stand between."""
    source = random.Random(seed)
    names = set(CHOICES)
    for group in EXCLUSIVE:
        names -= group - {source.choice(sorted(group))}
    chosen = source.sample(sorted(names), source.randint(3, 8))
    between = source.sample(sorted(BETWEEN), source.choice((0, 0, 1, 2)))
    changes = [DECLARED[name] for name in chosen if name in DECLARED]
    if source.random() < 0.2:
        changes.append(_payins_off)

    def wrap(inner: httpx.BaseTransport) -> httpx.BaseTransport:
        return functools.reduce(lambda wrapped, name: BETWEEN[name](wrapped), between, inner)

    def change(tables: Tables) -> Tables:
        return functools.reduce(lambda changed, one: one(changed), changes, tables)

    return Variant(
        f"drawn from {seed}: " + ", ".join([*chosen, *between]),
        tuple(CHOICES[name] for name in chosen),
        wrap=wrap,
        ahead=source.choice((0.0, 0.0, 0.0, 40.0, -40.0)),
        change=change,
    )
