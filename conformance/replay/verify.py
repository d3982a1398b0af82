"""Is the rule broken again? One kind of judgement for each way in which answers can show it.

A recorded failure gets the first kind that tells from the recorded answers that the rule was broken; a replay
then asks the same of the new answers. Each kind returns what was got, or "" where the answers are sound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.contract import timestamps
from conformance.contract.operations import OPERATIONS
from conformance.judging import queries
from conformance.judging.comparison import same, show
from conformance.judging.invariants import Invariants
from conformance.target.file import Target
from conformance.wire.messages import MISSING, Exchange

Judgement = dict[str, Any]

#: Rules that a difference between two looks at one thing breaks.
UNCHANGING = ("refusal.changes-nothing", "list.stable", "beneficiary.update-empty", "read.equals-create")

#: What a server may draw at random: ids, references, numbers of accounts.
_RANDOM = re.compile(r"[!-~]{8,}")

_WALKED = ("list.walk", "list.race", "list.complete", "list.pages", "create.echo", "beneficiary.destinations")

_ANSWER = re.compile(
    r"(?:^|: )(?:(?P<refusal>a refusal \(4xx\))|(?P<accepted>accepted \(2xx\))"
    r"|(?P<signed>.*accepted by authentication)"
    r"|(?:status )?(?P<statuses>[1-5][0-9]{2}(?: or [1-5][0-9]{2})*|any 4xx)"
    r"(?: (?P<type>\w+)/(?P<code>\w+))?)$"
)


@dataclass
class Case:
    """What is judged: the rule, its operation, the target, the answers by step, and the steps that are
    decisive. `values` are symbols and what they stand for."""

    rule: str
    operation: str
    target: Target
    answers: Mapping[str, Exchange]
    decisive: list[str]
    values: Mapping[str, str] = field(default_factory=dict)


# ---------------------------------------------------------------------- one answer


def _answer(case: Case, judgement: Judgement) -> str:
    exchange = case.answers[judgement["step"]]
    wanted = judgement["status"]
    match wanted:
        case "2xx":
            good = exchange.succeeded
        case "4xx":
            good = exchange.refused
        case "not 401":
            good = not exchange.refused_authentication
        case _:
            good = exchange.status in wanted
    if good and "error" in judgement:
        good = [exchange.error_type, exchange.error_code] == judgement["error"]
    return "" if good else exchange.described()


def wanted_answer(expected: str, step: str) -> Judgement | None:
    """The judgement that the sentence of a finding stands for: checks end it with the answer they want."""
    found = _ANSWER.search(expected)
    if found is None:
        return None
    judgement: Judgement = {"kind": "answer", "step": step}
    if found["refusal"] or found["statuses"] == "any 4xx":
        judgement["status"] = "4xx"
    elif found["accepted"]:
        judgement["status"] = "2xx"
    elif found["signed"]:
        judgement["status"] = "not 401"
    else:
        judgement["status"] = [int(one) for one in found["statuses"].split(" or ")]
    if found["type"]:
        judgement["error"] = [found["type"], found["code"]]
    return judgement


# ---------------------------------------------------------------------- each answer for itself


def _passive(case: Case, judgement: Judgement) -> str:
    rules = Invariants(case.target)
    for exchange in case.answers.values():
        rules.inspect(exchange)
    tally = rules.tallies.get((case.rule, case.operation))
    return tally.got if tally is not None and tally.broken else ""


def _page(case: Case, judgement: Judgement) -> str:
    for step in case.decisive:
        exchange = case.answers[step]
        if exchange.operation is None or not OPERATIONS[exchange.operation].is_list or not exchange.succeeded:
            continue
        query = queries.read(exchange.call.query)
        for one in queries.judge_page(exchange.operation, query, exchange, case.target.array_style):
            if one.rule == case.rule and not one.good:
                return one.got
    return ""


# ---------------------------------------------------------------------- answers compared


def _same_answer(case: Case, judgement: Judgement) -> str:
    """Repetitions with one key, path and body have one answer; but of several at once some may be refused."""
    if not case.rule.startswith("idempotency."):
        return ""
    groups: dict[Any, list[Exchange]] = {}
    at_once = case.rule == "idempotency.race"
    for exchange in case.answers.values():
        call = exchange.call
        if call.idempotency_key and (exchange.succeeded or not at_once):
            groups.setdefault(
                (exchange.organization, call.idempotency_key, call.target, call.body), []
            ).append(exchange)
    for first, *others in groups.values():
        for other in others if first.succeeded else ():
            if other.status != first.status or not same(other.document, first.document):
                return f"{other.described()}, unlike the first answer ({first.described()})"
    return ""


def _once(case: Case, judgement: Judgement) -> str:
    """Of several requests with one nonce, or for one thing there can be only once, one gets through."""
    groups: dict[Any, list[Exchange]] = {}
    for exchange in case.answers.values():
        call = exchange.call
        key: Any = None
        if case.rule.startswith("auth.nonce"):
            key = call.auth.nonce and (exchange.organization, call.auth.nonce)
            through = (
                exchange.status is not None and exchange.status < 500 and not exchange.refused_authentication
            )
        else:
            through = exchange.succeeded
            if exchange.operation == "createWallet" and case.rule.startswith("wallet"):
                key = (
                    call.target,
                    exchange.get("currency"),
                    exchange.get("network"),
                )
            elif case.rule == "idempotency.race" and call.idempotency_key:
                # One resource, whatever the answers say: their ids differ where it was made twice.
                continue
        if key and through:
            groups.setdefault(key, []).append(exchange)
    for group in groups.values():
        distinct = (
            {one.call.idempotency_key or one.number for one in group}
            if case.rule.startswith("wallet")
            else group
        )
        if len(distinct) > 1:
            return f"{len(distinct)} of them got through"
    return ""


def _unchanged(case: Case, judgement: Judgement) -> str:
    """Two looks at one thing, with nothing accepted in between, show the same."""
    before, after = (case.answers[step] for step in judgement["steps"])
    if not (before.succeeded and after.succeeded) or same(before.document, after.document):
        return ""
    names = (
        [name for name in after.document if not same(after.get(name), before.get(name))]
        if isinstance(after.document, dict)
        else []
    )
    return f"another {names[0]}: {show(after.get(names[0]))}" if names else "another answer"


def pair_of_looks(case: Case) -> Judgement | None:
    """The judgement that compares the last decisive read with what was shown of the same thing before, if
    nothing was accepted in between."""
    if case.rule not in UNCHANGING:
        return None
    reads = [
        step for step in case.decisive if case.answers[step].method == "GET" and case.answers[step].succeeded
    ]
    if not reads:
        return None
    last = max(reads, key=lambda step: case.answers[step].number)
    after = case.answers[last]
    for step, exchange in reversed(list(case.answers.items())):
        if exchange.number >= after.number or not exchange.succeeded:
            continue
        alike = exchange.call.target == after.call.target or (
            exchange.get("id") is not MISSING
            and exchange.get("id") == after.get("id")
            and exchange.get("object") == after.get("object")
        )
        if alike:
            return {"kind": "unchanged", "steps": [step, last]}
        if exchange.method != "GET":
            return None
    return None


def _effect(case: Case, judgement: Judgement) -> str:
    """What was sent in refused requests alone is shown nowhere."""
    accepted: set[tuple[str, str]] = set()
    refused: set[tuple[str, str]] = set()
    for exchange in case.answers.values():
        if exchange.method == "GET":
            if exchange.succeeded and (seen := sorted(_texts(exchange.document) & (refused - accepted))):
                name, value = seen[0]
                return f"{name} {show(value)}, which only a refused request had"
        else:
            (accepted if exchange.succeeded else refused).update(_texts(_sent(exchange)))
            accepted |= _texts(exchange.document) if exchange.succeeded else set()
    return ""


def _sent(exchange: Exchange) -> Any:
    try:
        return exchange.call.document
    except (ValueError, RecursionError):
        return None


def _texts(document: Any) -> set[tuple[str, str]]:
    """The text members of an object, or of the elements of a list."""
    items = document.get("items") if isinstance(document, dict) else None
    elements = items if isinstance(items, list) else [document]
    return {
        (name, value)
        for one in elements
        if isinstance(one, dict)
        for name, value in one.items()
        if isinstance(value, str)
    }


def _walk(case: Case, judgement: Judgement) -> str:
    """The pages of a list show every element once, those made in the steps before among them."""
    if case.rule not in _WALKED:
        return ""
    walks: dict[tuple[str, str], list[Exchange]] = {}
    for exchange in case.answers.values():
        if exchange.operation and OPERATIONS[exchange.operation].is_list and exchange.succeeded:
            filters = re.sub(r"\bpage=[^&]*&?", "", exchange.call.query)
            walks.setdefault((exchange.call.path, filters), []).append(exchange)
    for (path, filters), pages in walks.items():
        sizes: dict[Any, list[Exchange]] = {}
        for page in pages:
            sizes.setdefault(page.get("size"), []).append(page)
        for group in sizes.values():
            by_number = {page.get("page"): page for page in group}
            items = [
                item
                for page in by_number.values()
                for item in page.get("items") or []
                if isinstance(item, dict)
            ]
            ids = [str(item.get("id")) for item in items]
            if len(set(ids)) < len(ids):
                return "an element that is shown twice"
            last = group[-1]
            if len(by_number) == last.get("pages") and len(ids) != last.get("total"):
                return f"{len(ids)} elements on all pages of total {last.get('total')}"
            made = {
                one.get("id")
                for one in case.answers.values()
                if one.method == "POST"
                and one.succeeded
                and one.call.path == path
                and one.number < group[0].number
            }
            plain = "date" not in filters and "status" not in filters and "currency" not in filters
            if plain and len(by_number) == last.get("pages") and not made <= set(ids):
                return "a created element is missing"
    return ""


# ---------------------------------------------------------------------- the same answers as before


def _alike(case: Case, judgement: Judgement) -> str:
    """Most decisive answers are the recorded ones again; some may show what others did meanwhile."""
    alike = 0
    for step, recorded in judgement["answers"].items():
        now = normal(case, step)
        if now["status"] != recorded["status"]:
            return ""
        alike += same(now, recorded)
    first = next(iter(judgement["answers"]))
    return (
        f"{case.answers[first].described()}, as when it was recorded"
        if 2 * alike > len(judgement["answers"])
        else ""
    )


def likeness(case: Case) -> Judgement:
    """The judgement that asks whether the decisive answers are the recorded ones again."""
    return {"kind": "alike", "answers": {step: normal(case, step) for step in case.decisive[:6]}}


def normal(case: Case, step: str) -> Any:
    """An answer without what differs from one run to the next; what differs, but is the same wherever it
    stands in the answers, keeps its place by a number."""
    symbols = {value: symbol for symbol, value in case.values.items() if len(value) >= 6}
    sent = "\n".join(
        one.call.target + (one.call.body or b"").decode("utf-8", "replace") for one in case.answers.values()
    )
    numbers: dict[str, int] = {}
    # Of times only their order is kept.
    texts = {text for one in case.answers.values() for text in _strings(one.document)}
    instants = {text: instant for text in texts if (instant := timestamps.parse(text)) is not None}
    order = {instant: rank for rank, instant in enumerate(sorted(set(instants.values())), 1)}
    moments = {text: order[instant] for text, instant in instants.items()}

    def reduced(value: Any, counted: bool) -> Any:
        if isinstance(value, dict):
            return {
                key: "<count>" if counted and key in ("total", "pages") else reduced(member, counted)
                for key, member in sorted(value.items())
            }
        if isinstance(value, list):
            return [reduced(member, counted) for member in value]
        if isinstance(value, str):
            if value in symbols:
                return "{{" + symbols[value] + "}}"
            if value in moments:
                return f"<time {moments[value]}>"
            if _RANDOM.fullmatch(value) and any(map(str.isdigit, value)) and value not in sent:
                return f"<{numbers.setdefault(value, len(numbers) + 1)}>"
        # A time in seconds or less.
        return "<number>" if isinstance(value, (int, float)) and abs(value) >= 10**9 else value

    for name, exchange in case.answers.items():
        # The customer's accounts are everybody's: their number differs each time.
        answer = (
            reduced(exchange.document, exchange.operation == "listAccounts")
            if exchange.document is not MISSING
            else "<no JSON>"
        )
        if name == step:
            return {"status": exchange.status, "body": answer}
    raise KeyError(step)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _strings(member)


KINDS: dict[str, Callable[[Case, Judgement], str]] = {
    "answer": _answer,
    "passive": _passive,
    "page": _page,
    "same-answer": _same_answer,
    "once": _once,
    "unchanged": _unchanged,
    "effect": _effect,
    "walk": _walk,
    "alike": _alike,
}


def broken(case: Case, judgement: Judgement) -> str:
    """What was got where the rule is broken, or ""."""
    return KINDS[judgement["kind"]](case, judgement)


def choose(case: Case, expected: str) -> Judgement:
    """The kind of judgement by which recorded answers show the rule broken."""
    candidates = [
        wanted_answer(expected, case.decisive[0]),
        {"kind": "passive"},
        {"kind": "page"},
        {"kind": "same-answer"},
        {"kind": "once"},
        pair_of_looks(case),
        {"kind": "walk"},
        {"kind": "effect"} if case.rule == "refusal.changes-nothing" else None,
    ]
    for judgement in candidates:
        if judgement is not None and broken(case, judgement):
            return judgement
    return likeness(case)
