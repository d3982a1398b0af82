"""The conforming servers with their choices and the changes of their target file."""

from __future__ import annotations

import re
from typing import Any

from conformance.contract.operations import OPERATIONS

# Each registers its choices.
from . import (  # noqa: F401
    answers,
    authentication,
    backends,
    bodies,
    demands,
    implied,
    jobs,
    lists,
    networks,
    payments,
    replicas,
    resources,
    routing,
)
from .choice import choice
from .surroundings import (
    Folded,
    GivesUp,
    MethodsNotImplemented,
    NoPayins,
    OneAtATime,
    PlainNotFound,
    RateLimited,
    crowded_customer,
    crowded_neighbour,
    vetted_payee,
)
from .target_files import british, payee, payins_off, payouts_off, style, within_ten_seconds
from .variant import Variant

#: Server: its choices.
_CHOSEN = """
reference:
frameworks: ErrorsByField, CodesInAnyCase, CodesOfAnyLetters, listed_values_in_any_case, spaces_trimmed,
    AnyAddress, always_ok, masked_as_usual,
    uuid_ids, Milliseconds, NewestFirst, one_page_at_least, BroughtIntoRange, validates_first, AnyUuid,
    signed_timestamps, charset_declared, OddFiltersMatchNothing
strict: no_unknown_fields, strict_json, json_declared, syntax_checked, no_nulls, AmountsInCents,
    hexadecimal_nonces, no_bearer_beside, bearer_named, headers_of_cgi, keys_by_their_letters,
    no_keys_elsewhere, UnspecifiedCodes, no_cards, fiat_destinations_only, details_demanded,
    disabled_unpaid, disabled_once, FundsDemanded, pages_beyond_refused, canonical_integers,
    one_status_only, WholeSeconds, SmallBodies, plain_texts, no_addresses_of_proxies, no_other_methods
lenient: masked_in_groups, TerseErrors, surrogates_replaced, AnyDecimal, NoBodyIsEmpty, length_in_utf16,
    signatures_in_any_case, equal_json_replays, no_bodies_on_get, payouts_on_credit,
    shared_bank_details, FurtherFields, inapplicable_left_out, numeric_ids, ReferencesOfAnotherPrefix,
    first_parameter_counts, balances_from_the_start, TrailingZeros, repeated_headers
keys of the organization: hung_up_under_way, messages_translated, KeysOfOrganization,
    refusals_remembered, nonce_before_signature,
    nonces_of_all, replays_marked, ulid_ids, OtherWords
signature first: abandoned_with_the_caller, not_acceptable, SignatureBeforeTimestamp,
    foreign_account_forbidden, KeyFirst, accepted_for_later,
    order_of_hashes, sparse_bank_details, updated_after_created, stored_masks, nanoseconds, OddStatuses
rewritten answers: ascii_answers, whole_list_items, AnyUuid, KeysBeforeResources, one_page_at_least
commas: StatusesWithCommas, BroughtIntoRange
brackets: StatusesInBrackets, pages_beyond_refused
fast clock: WholeSeconds, white_space
slow clock: Milliseconds
no date: no_date
no date, fast clock: no_date
no date, slow clock: no_date, nanoseconds
invalid as unauthenticated: unknown_members_not_found, invalid_as_unauthenticated, documented_parameters_only
rate limited: always_ok
gives up: TerseErrors
one at a time: TerseErrors
payins off: FurtherFields
payins not built:
payouts off: FundsDemanded
plain web server: ErrorsByField, SmallBodies
Britain only: BritainOnly, details_demanded
pair once: pair_once_per_organization
settles: balances_settle, jobs_verify, rows_touched, MembersThatChange
busy: OtherClients, balances_settle, statuses_reviewed, members_everywhere
policies: payees_reviewed, in_the_red, frozen_when_disabled, body_before_key, seconds_in_lists,
    long_odd_ids, MembersWithin, resembling_names_conflict
few of each: few_of_each, DailyLimit
same payout once: SamePayoutOnce
payees screened: payees_screened
payees screened and frozen: payees_screened, frozen_when_disabled
reads behind: ReadsBehind
others pay: OthersPay, jobs_verify
cut: MillisecondsCut, ListsSoon, null_bank_details, short_list_items
rounded: MillisecondsRounded, ReadsFromReplicas, embedded_list_form
late: ListsLate
very late: ListsVeryLate
vetted payees: vetted_payees
totals of lists behind: TotalsBehind, OtherClients
elements of lists behind: elements_behind, OtherClientsSeldom
filters behind: filters_behind
lists uneven: ListsUneven, OtherClients
lists in turn: ListsInTurn, digits_by_method
reads uneven: ReadsUneven
reads in turn: ReadsInTurn, statuses_move
nobody twice: UniqueNames, UniquePeople, UniqueBankAccounts, UniqueLabels, second_default_refused
payment network: titles_listed, companies_of_businesses, tax_ids_of_aform, latin_names,
    names_without_digits, emails_in_lower_case, phones_as_e164, bank_accounts_found, scaled_replays
autoincrement: serial_ids, DatabaseAhead, LastChangedFirst, unchanged_stays, disabled_stays,
    empty_key_is_none, SpellingsServed, ParametersOfSegments, semicolons_separate, empty_is_null, FeesTaken,
    dates_in_utc
what is there: AccountsFound, PeopleFound, VirtualAccountsFound, DatabaseBehind,
    nanoseconds_then_microseconds, ByName, keys_everywhere, UndocumentedReads, reserved_on_approval,
    OtherWordsForMethods, NonceFirst
gets from a replica: GetsFromReplica, no_bodies_on_get
destinations from a replica: DestinationsFromReplica
destinations from two replicas in turn: DestinationsInTurn
commits late: CommitsLate
ids in base64: base64_ids
ids with colons: ids_with_colons
ids with signs: ids_with_signs
ids with quotes: ids_with_quotes
ids with dots: ids_with_dots
ids beyond ASCII: ids_beyond_ascii
ids of 200 characters: ids_of_200_characters
keys locked until the commit: KeysLockedUntilCommit
keys locked for a second: KeysTooEarly, FundsDemanded
commits late, refusals remembered: CommitsLate, refusals_remembered
gets uneven: GetsUneven
destinations uneven: DestinationsUneven, WholeSeconds
gets and destinations from a replica: DestinationsFromReplica, GetsFromReplica
bank: bank_details_checked, fitting_fields_only, addresses_checked, ascii_texts, wallet_codes_in_any_case,
    several_addresses, dollars_in_cents, paths_not_implemented, null_errors
quotas: FewPeople, FewVirtualAccounts, FewPayouts
few accounts: FewAccounts
a hundred accounts: AHundredAccounts
furnished: accounts_furnished
furnished later: accounts_furnished_later
periods checked: periods_checked, UnknownValuesPassedOver
balances uneven: BalancesUneven
defaults moved later: DefaultsMovedLater
first default stays: first_default_stays
crowded customer:
crowded neighbour: NewestFirst
limited behind authentication: LimitedBehindAuthentication
limited twice:
corridors: AmountsScaled, amounts_capped, currency_of_the_destination, IdsOfAForm, echoing_errors,
    persons_without_digits
one of each currency: one_of_each_currency, periods_checked
virtual accounts of one organization: virtual_accounts_of_one
without chunked bodies: ReadsNoChunks
alike in all answers: like_all_answers
pages not found: pages_beyond_not_found, canonical_integers
Go: fractions_trimmed, members_in_any_order
dotnet: ticks, long_fractions_passed_over, members_of_odd_types, cookies_and_tags, verified_when_paid
PHP: slashes_escaped, destinations_disabled_too, few_people_in_an_account
under review: reviewed_after_change
few payouts to one: few_payouts_to_one
no bursts: no_bursts
implied otherwise: keys_optional, unassigned_codes, optional_types_ignored, numbers_as_floats
nothing implied: unauthenticated_otherwise, signature_shown, random_uuids_only, parsed_bodies_compared,
    references_invalid, any_destination_of_the_account, payins_of_any_amount, no_rates_yet,
    texts_composed, basic_plane_only, updated_stays, empty_patch_refused_first, empty_patch_refused,
    business_without_name, plain_content_type_only, length_required, barely_masked
"""

#: Server -> what it needs beside its choices.
_SURROUNDED: dict[str, dict[str, Any]] = {
    "rewritten answers": {"wrap": Folded},
    "frameworks": {"change": style("repeat")},
    "commas": {"change": style("comma")},
    "brackets": {"change": style("brackets")},
    "fast clock": {"ahead": 40},
    "slow clock": {"ahead": -40},
    "no date, fast clock": {"ahead": 25},
    "no date, slow clock": {"ahead": -25},
    "rate limited": {"wrap": RateLimited},
    "gives up": {"wrap": GivesUp},
    "one at a time": {"wrap": OneAtATime},
    "payins off": {"wrap": NoPayins, "change": payins_off},
    "payins not built": {"wrap": NoPayins, "unreached": ("createPayin",)},
    "payouts off": {"change": payouts_off},
    "plain web server": {"wrap": PlainNotFound},
    "Britain only": {"change": british},
    "others pay": {"unreached": ("createPayout",)},
    "few payouts to one": {"unreached": ("createPayout",)},
    "pair once": {"unreached": ("createWallet", "listWallets")},
    "policies": {"unreached": ("disableBeneficiary",)},
    "few of each": {"unreached": ("createPayout",)},
    "very late": {"change": within_ten_seconds},
    "vetted payees": {"change": payee, "fill": vetted_payee},
    "payment network": {"wrap": MethodsNotImplemented},
    "quotas": {
        "unreached": tuple(
            name for name in OPERATIONS if name not in ("createAccount", "listAccounts", "createPayin")
        )
    },
    "few accounts": {"unreached": tuple(OPERATIONS)},
    # Each account takes one wallet of a pair.
    "a hundred accounts": {"unreached": ("createAccount", "createWallet")},
    "crowded customer": {"fill": crowded_customer},
    "crowded neighbour": {"fill": crowded_neighbour},
    "limited twice": {"wrap": networks.LimitedTwice, "unreached": tuple(OPERATIONS)},
    "one of each currency": {
        "unreached": ("createVirtualAccount", "listVirtualAccounts", "getVirtualAccount")
    },
    "virtual accounts of one organization": {
        "unreached": ("createVirtualAccount", "listVirtualAccounts", "getVirtualAccount")
    },
}

VARIANTS: tuple[Variant, ...] = (
    *(
        Variant(
            name, tuple(choice[each].base for each in re.findall(r"\w+", names)), **_SURROUNDED.get(name, {})
        )
        for name, names in re.findall(r"^(\S[^:]*):(.*(?:\n +.*)*)", _CHOSEN, re.MULTILINE)
    ),
    *(Variant(name, (), wrap=between) for name, between in networks.BETWEEN.items()),
)


def named(name: str) -> Variant:
    """Returns the conforming server of a name. Raises StopIteration for an unknown one."""
    return next(variant for variant in VARIANTS if variant.name == name)
