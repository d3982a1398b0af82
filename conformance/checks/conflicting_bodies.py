"""Bodies to send with a used Idempotency-Key (section 4.0.2): each differs from the original's in one way."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from conformance.checks.idempotent_requests import IdempotentRequest
from conformance.contract.fields import request_fields
from conformance.contract.operations import OPERATIONS
from conformance.contract.traits import TRAITS
from conformance.judge.verdicts import Inconclusive
from conformance.world import samples
from conformance.world.account import Account, identifier
from conformance.world.samples import FREE, LETTER, Body, other_end, other_value

#: A change of a body; empty where it changes nothing.
Change = Callable[[Body], Body]

#: Operation -> the stated defaults of its fields (sections 4.2 and 4.3).
_DEFAULTS: Mapping[str, Body] = {
    "createBeneficiary": {"beneficiary_type": "individual"},
    "createPayoutDestination": {"is_default": False},
}


def _rows(body: Body, changes: Mapping[str, Change]) -> Iterator[tuple[str, Body]]:
    """Yields the bodies that changes make of one, with the difference in words."""
    for difference, change in changes.items():
        if (other := change(body)) and other != body:
            yield difference, other


def _texts(body: Body) -> list[str]:
    """Returns the names of the free texts of a body."""
    return [name for name in FREE if isinstance(body.get(name), str)]


def _in_text(change: Callable[[str], str], where: Callable[[str], object] = bool) -> Change:
    """Changes the first free text that `where` holds of."""

    def changed(body: Body) -> Body:
        name = next((name for name in _texts(body) if where(body[name])), None)
        return {} if name is None else {**body, name: change(body[name])}

    return changed


def _in_names(change: Callable[[str, str], tuple[str, str]], one: str, other: str) -> Change:
    """Changes two texts, of one letter or more."""

    def changed(body: Body) -> Body:
        texts = body.get(one), body.get(other)
        if not all(isinstance(text, str) and len(text) > 1 for text in texts):
            return {}
        return {**body, **dict(zip((one, other), change(str(texts[0]), str(texts[1])), strict=True))}

    return changed


def _swapped(text: str) -> str:
    """Swaps two neighbours of a text that differ, digits if there are any."""
    pair = re.search(r"([0-9])(?!\1)[0-9]", text) or re.search(r"(.)(?!\1).", text)
    return text if pair is None else text[: pair.start()] + pair[0][::-1] + text[pair.end() :]


def _renamed(body: Body, text: str) -> Body:
    return {f"conformance_{name}" if name == text else name: value for name, value in body.items()}


#: Valid bodies with texts exchanged, split at another letter or respelled: equal where values are compared
#: without names, concatenated or normalized. The last effect shows on one resource.
_RESPELLED: Mapping[str, Change] = {
    "first_name and last_name exchanged": _in_names(lambda a, b: (b, a), "first_name", "last_name"),
    "a letter of last_name moved to first_name": _in_names(
        lambda a, b: (a + b[0], b[1:]), "first_name", "last_name"
    ),
    "a letter of middle_name moved to first_name": _in_names(
        lambda a, b: (a + b[0], b[1:]), "first_name", "middle_name"
    ),
    "a text without its spaces": _in_text(
        lambda text: text.replace(" ", ""), lambda text: " " in text.strip()
    ),
    "a text in upper case": _in_text(lambda text: re.sub("[0-9A-Za-z]+", lambda word: word[0].upper(), text)),
    "two characters of a text swapped": _in_text(_swapped),
}


def other_values(original: IdempotentRequest, but: Collection[str]) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from the original's in the value of one field, except `but`, as valid as can
    be known."""
    body = original.call.document
    for name, value in body.items():
        if name in but:
            continue
        if isinstance(value, dict):
            for member, inner in value.items():
                if isinstance(inner, str):
                    changed = {**value, member: other_value(member, inner) or other_end(inner)}
                    yield f"another {member} in {name}", {**body, name: changed}
        elif isinstance(value, str) and (other := _other(name, value, original)) not in (None, value):
            yield f"another {name}", {**body, name: other}


def other_forms(original: IdempotentRequest) -> Iterator[tuple[str, Body]]:
    """Yields valid bodies with a field more or less than the original's, or with texts rearranged or
    respelled."""
    operation, body = original.operation, original.call.document
    required, creates = OPERATIONS[operation].required_fields, TRAITS[operation].creates
    left_out = [name for name in body if name in FREE and name not in required][-1:]
    more: Body = {}
    if creates == "virtual_account":
        more = {"address": samples.address("state")}
    elif creates == "payout_destination":
        more = {"is_default": True}
    if left_out:
        yield f"without {left_out[0]}", {name: body[name] for name in body if name not in left_out}
    if more:
        yield f"with {next(iter(more))}", {**body, **more}
    for name, value in body.items():
        if isinstance(value, str) and LETTER in value:
            yield f"another Cyrillic letter in {name}", {**body, name: value.replace(LETTER, "\u0448")}
    # Changed values come last: on one resource, the last effect shows.
    yield from _rows(body, _RESPELLED)


def equivalent_bodies(operation: str, body: Body) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from a valid one, but mean the same once they are parsed."""
    defaults = _DEFAULTS.get(operation, {})
    absent = [
        field.name
        for field in request_fields(operation)
        if not field.required and field.name not in {*body, *defaults}
    ]
    amount = str(body.get("amount"))
    changes: dict[str, Body] = {
        "with an unknown member": {"conformance": samples.marker()},
        **{
            f"with {name}, written out with its default": {name: default}
            for name, default in defaults.items()
            if name not in body
        },
        **{f"with {name} null instead of left out": {name: None} for name in absent[:1]},
    }
    if "." in amount:
        changes["with a zero more in its amount"] = {"amount": f"{amount}0"}
        changes["with its amount as a number"] = {"amount": float(amount)}
    for name in _texts(body)[:1]:
        changes[f"with a space behind its {name}"] = {name: f"{body[name]} "}
    for difference, changed in changes.items():
        yield difference, {**body, **changed}


def with_a_numeral(body: Body) -> Body:
    """Returns the first free text of a body, as digits that end in two zeros."""
    return {name: f"{samples.digits(6)}00" for name in _texts(body)[:1]}


def other_numerals(body: Body) -> Iterator[tuple[str, Body]]:
    """Yields bodies whose digits are another text of the same number, which is equal in loose comparisons."""
    for name in _texts(body):
        if re.fullmatch("[0-9]{6}00", text := body[name]):
            for other in (f"{text[:-2]}e2", f"{text}.0", f"0{text}"):
                yield f"{name} {other} in the place of {text}", {**body, name: other}


def unlike_bodies(body: Body, text: str) -> Iterator[tuple[str, Body]]:
    """Yields bodies that differ from a valid one in the end or the name of a text: equal to a server that
    compares only the first bytes, or values without names."""
    if isinstance(body.get(text), str):
        yield f"a used key, but another {text} behind much white space", {**body, text: other_end(body[text])}
        yield f"a used key, but its {text} under another name", _renamed(body, text)


def _other(name: str, value: str, original: IdempotentRequest) -> Any:
    """Returns another value of a field, as valid as can be known; None without one."""
    if name in FREE:
        return other_end(value)
    if TRAITS[original.operation].unique_pair:
        if name not in ("currency", "network"):
            return None
        configured = [pair[name == "network"] for pair in original.ctx.run.samples.wallet_pairs]
        others = [*configured, *(("USDT", "USDC") if name == "currency" else ("ethereum", "polygon"))]
        return next(other for other in others if other != value)
    if name not in ("beneficiary_id", "payout_destination_id"):
        return other_value(name, value)
    with contextlib.suppress(Inconclusive):
        if name == "payout_destination_id":
            second = original.fixture.call("createPayoutDestination")
            return identifier(original.ctx.accept(second, "a second destination to name"))
        # Another fixture in the same account has another beneficiary.
        return Account(original.ctx.run, account_id=original.fixture.account_id).beneficiary_id
    return None
