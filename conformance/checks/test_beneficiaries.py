"""Beneficiaries (sections 2.3, 3 and 4.2): changed by PATCH, disabled, and holding their destinations."""

from __future__ import annotations

from typing import Any

from conformance import samples
from conformance.creations import LETTERS
from conformance.exchange import MISSING, Exchange
from conformance.fields import documented
from conformance.likeness import alike, document, identifiers, judge_member, judge_members, objects, shown
from conformance.runner import check
from conformance.shapes import Shapes
from conformance.stated import stated
from conformance.suite import Suite
from conformance.timestamps import parse, wait_past
from conformance.trial import Trial, show
from conformance.verdict import Inconclusive
from conformance.world import Scene, call, identifier

Body = dict[str, Any]

#: More destinations than a list shows on a page by default.
MANY = 11


class Beneficiary:
    """A beneficiary of its own in a scene: the exchange that created it, and calls on it."""

    def __init__(self, trial: Trial, scene: Scene, body: Body | None = None) -> None:
        self.trial = trial
        self.created = scene.create("createBeneficiary", body)
        self.ids = {"account_id": scene.account_id, "beneficiary_id": identifier(self.created)}
        #: What is known of it even if the create's answer shows something else.
        self.stated = stated("createBeneficiary", self.created.call.document, self.ids)

    def read(self, purpose: str) -> Exchange:
        return self.trial.send(call("getBeneficiary", self.ids), purpose)

    def patch(self, body: Body, purpose: str) -> Exchange:
        return self.trial.send(call("updateBeneficiary", self.ids, body), purpose)

    def disable(self, purpose: str) -> Exchange:
        return self.trial.send(call("disableBeneficiary", self.ids), purpose)


def arrived(exchange: Exchange) -> float:
    """When an answer came, as Unix seconds of the local clock."""
    return exchange.started + exchange.elapsed


def unreliable(created: Exchange, read: Exchange) -> list[str]:
    """The members that a create and a read right after it show differently, which is another rule's business."""
    if not read.succeeded:
        return []
    before, after = document(created), document(read)
    return [name for name in before if name in after and not alike("getBeneficiary", name, after[name], before[name])]


def judge_moved(trial: Trial, rule: str, before: Any, answer: Exchange, what: str) -> None:
    """Judges that `updated` of an answer is later than it was."""
    old, new = parse(before), parse(answer.get("updated"))
    if old is None or new is None:
        trial.set_aside(rule, f"{what}: updated is no timestamp", answer, cause="format.timestamp")
        return
    trial.judge(rule, new > old, f"{what}: an updated after {show(before)}", show(answer.get("updated")), answer)


# ---------------------------------------------------------------------- update

def changes(suite: Suite) -> dict[str, Body]:
    """PATCH bodies by name: every field alone, then several at once. Where the target file says what this server
    wants in a field, the new value is no other kind than that."""
    word, sample, told = samples.marker(), suite.samples.beneficiary(), suite.samples.over("beneficiary")
    elsewhere = {"address_line": "22 Other Road", "city": "Boston", "region": "MA", "postal_code": "02101"}
    if "address" in told:
        elsewhere = {"address_line": "22 Other Road"}
    phone = sample["phone"]
    single: Body = {
        "title": "Dr", "first_name": "Grace", "middle_name": "Brewster", "last_name": "Hopper",
        "display_name": f"Grace Hopper {word}", "email": f"{word}.{sample['email']}",
        "phone": phone[:-1] + ("4" if phone.endswith("3") else "3"), "address": {**sample["address"], **elsewhere},
        "tax_id": sample["tax_id"] if "tax_id" in told else "987654321", "country_code": sample["country_code"],
        "note": f"changed {word}",
    }
    several = ("title", "last_name", "email", "address", "note")
    return {
        **{name: {name: value} for name, value in single.items()},
        "several fields": {name: single[name] for name in several},
        "fields in letters of several scripts": {"display_name": LETTERS, "note": LETTERS},
    }


@check("beneficiary.update", "beneficiary.update-moves-updated")
def test_update_changes_what_it_names(trial: Trial) -> None:
    """Each field is changed alone, and several at once, each time on a beneficiary of its own with all fields set: the
    answer has the new values and all others as they were, updated moves, and a later read shows the same."""
    scene = trial.scene(fresh=True)
    bystander = Beneficiary(trial, scene)
    aside = unreliable(bystander.created, bystander.read("another beneficiary of the account"))
    people = [(name, body, Beneficiary(trial, scene)) for name, body in changes(trial.suite).items()]
    shapes, company = Shapes(trial.suite, "createBeneficiary"), {"company_name": f"Compilers {samples.marker()}"}
    if shapes.accepted("business"):
        people.append(("company_name", company, Beneficiary(trial, scene, shapes.body("business", scene))))
        people.append(("note of a business", {"note": "changed"}, Beneficiary(trial, scene, shapes.body("business", scene))))
        to_business = {"beneficiary_type": "business", **company}
        people.append(("beneficiary_type and company_name", to_business, Beneficiary(trial, scene)))
    last = people[-1][2].created
    # One wait for all: a server may show whole seconds.
    wait_past(last.get("updated"), arrived(last))
    for name, body, person in people:
        _judge_update(trial, person, body, f"a PATCH of {name}", aside)
    # A server that serves some countries only may refuse another one.
    moves = Beneficiary(trial, scene)
    abroad = {"country_code": "GB" if moves.created.get("country_code") != "GB" else "DE"}
    if moves.patch(abroad, "a PATCH of another country_code").succeeded:
        _judge_update(trial, Beneficiary(trial, scene), abroad, "a PATCH of another country_code", aside)
    untouched = bystander.read("another beneficiary of the account, after all of that")
    if untouched.succeeded:
        what = "another beneficiary was changed"
        judge_members(trial, "beneficiary.update", untouched, document(bystander.created), what, but=aside)


def _judge_update(trial: Trial, person: Beneficiary, body: Body, what: str, aside: list[str]) -> None:
    before = document(person.created)
    answer = person.patch(body, what)
    if not trial.succeeded("beneficiary.update", answer, what):
        return
    expected = {**before, **body}
    others = [name for name in aside if name not in body]
    known = {**person.stated, **body}
    judge_members(trial, "beneficiary.update", answer, expected, what, but=["updated", *others], otherwise=known)
    if any(before.get(name) != value for name, value in body.items()):
        judge_moved(trial, "beneficiary.update-moves-updated", before.get("updated"), answer, what)
    later = person.read(f"the beneficiary after {what}")
    if not later.succeeded:
        trial.set_aside("beneficiary.update", f"the read after {what} was answered {later.described()}", later,
                        cause="read.equals-create")
        return
    expected = {**expected, "updated": answer.get("updated")}
    judge_members(trial, "beneficiary.update", later, expected, f"a read after {what}", but=others, otherwise=known)


@check("beneficiary.update")
def test_updates_build_on_one_another(trial: Trial) -> None:
    """Of two PATCHes the second keeps what the first changed, also on a beneficiary that was created with the required
    fields only; a null that was left out stays null."""
    scene = trial.scene(fresh=True)
    sample = scene.body("createBeneficiary")
    minimal = {name: sample[name] for name in sample if name not in ("title", "middle_name", "tax_id", "note")}
    person = Beneficiary(trial, scene, minimal)
    expected = document(person.created)
    for body in ({"note": "first"}, {"title": "Dr", "last_name": "Byron"}, {"note": "second"}):
        what = f"a PATCH of {' and '.join(body)}, one of three in a row"
        answer = person.patch(body, what)
        if trial.succeeded("beneficiary.update", answer, what):
            expected = {**expected, **body}
            person.stated |= body
            judge_members(trial, "beneficiary.update", answer, expected, what, but=["updated"], otherwise=person.stated)


@check("refusal.changes-nothing", operations=("updateBeneficiary",))
def test_update_is_all_or_nothing(trial: Trial) -> None:
    """A PATCH with a sound field and an invalid one, in either order, is refused as a whole: a later read shows every
    field, updated included, as before."""
    rule, scene = "refusal.changes-nothing", trial.scene(fresh=True)
    person = Beneficiary(trial, scene)
    before = trial.accept(call("getBeneficiary", person.ids), "the beneficiary as it is")
    too_long = "x" * 300
    probes: dict[str, Body] = {
        "a sound title, then last_name too long": {"title": "Dr", "last_name": too_long},
        "first_name too long, then a sound note": {"first_name": too_long, "note": "changed"},
        "a sound first_name, then a wrong country_code": {"first_name": "Grace", "country_code": "USA"},
        "a wrong beneficiary_type, then a sound address": {"beneficiary_type": "robot", "address": samples.address("region")},
        "a sound note, then an address that is no object": {"note": "changed", "address": "1 Main Street"},
    }
    for what, body in probes.items():
        answer = person.patch(body, f"a PATCH with {what}")
        if not trial.usable(rule, answer):
            continue
        if not answer.refused:
            trial.set_aside(rule, f"a PATCH with {what} was answered {answer.described()}", answer, cause="fields.max-length")
            before = person.read("the beneficiary as it is now")
            continue
        after = person.read(f"the beneficiary after a PATCH with {what}")
        if trial.usable(rule, after) and after.succeeded and before.succeeded:
            judge_members(trial, rule, after, document(before), f"after a refused PATCH with {what}")


@check("beneficiary.update-empty")
def test_empty_update(trial: Trial) -> None:
    """A PATCH with an empty object is accepted; its answer and a later read show what was there."""
    rule, scene = "beneficiary.update-empty", trial.scene(fresh=True)
    _ = scene.destination
    before = trial.accept(scene.call("getBeneficiary"), "the beneficiary as it is")
    answer = trial.send(scene.call("updateBeneficiary", {}), "a PATCH with an empty object")
    if not trial.succeeded(rule, answer, "a PATCH with an empty object"):
        return
    judge_members(trial, rule, answer, document(before), "a PATCH with an empty object",
                  but=["updated", "payout_destinations"], otherwise=document(scene.beneficiary))
    after = trial.send(scene.call("getBeneficiary"), "the beneficiary after a PATCH with an empty object")
    if after.succeeded:
        judge_members(trial, rule, after, document(before), "a read after a PATCH with an empty object", but=["updated"])


@check("format.nullable", operations=("getBeneficiary", "updateBeneficiary", "disableBeneficiary"))
def test_empty_fields_stay_null(trial: Trial) -> None:
    """A beneficiary created without its optional fields shows them as null when it is read, changed and disabled."""
    scene = trial.scene(fresh=True)
    sample = scene.body("createBeneficiary")
    optional = ("title", "middle_name", "tax_id", "note", "company_name")
    person = Beneficiary(trial, scene, {name: value for name, value in sample.items() if name not in optional})
    match trial.operation.id:
        case "getBeneficiary":
            answer, what = person.read("a read without optional values"), "read"
        case "updateBeneficiary":
            answer, what = person.patch({"first_name": "Grace"}, "a PATCH without optional values"), "first_name changed"
        case _:
            answer, what = person.disable("a disable without optional values"), "disabled"
    if trial.usable("format.nullable", answer) and answer.succeeded:
        for name in optional:
            value = answer.get(name)
            trial.judge("format.nullable", value is None, f"{what} after a create without {name}: {name} null", shown(value), answer)


# ---------------------------------------------------------------------- disable

@check("beneficiary.disable", "beneficiary.disable-moves-updated", "beneficiary.disable-twice")
def test_disable(trial: Trial) -> None:
    """An individual, a business, one that was changed before and one with destinations are disabled: the answer has
    status disabled, a later updated and all else as it was; a later read agrees, and nobody else is disabled."""
    scene = trial.scene(fresh=True)
    bystander = Beneficiary(trial, scene)
    aside = unreliable(bystander.created, bystander.read("another beneficiary of the account"))
    people = {"a beneficiary": Beneficiary(trial, scene), "a changed beneficiary": Beneficiary(trial, scene)}
    business = Shapes(trial.suite, "createBeneficiary")
    if business.accepted("business"):
        people["a business"] = Beneficiary(trial, scene, business.body("business", scene))
    paid = Beneficiary(trial, scene)
    bank = trial.send(call("createPayoutDestination", paid.ids, trial.suite.bank_account(scene)), "a destination of it")
    if bank.succeeded:
        people["a beneficiary with a destination"] = paid
    changed, change = people["a changed beneficiary"], {"note": "changed", "title": "Dr"}
    if changed.patch(change, "a change before it is disabled").succeeded:
        changed.stated |= change
    before = {name: person.read(f"{name} as it is") for name, person in people.items()}
    last = list(before.values())[-1]
    wait_past(last.get("updated"), arrived(last))
    for name, person in people.items():
        _judge_disable(trial, person, before[name], name, aside)
    spared = bystander.read("another beneficiary of the account, after all of that")
    if spared.succeeded:
        judge_member(trial, "beneficiary.disable", spared, "status", "active", "another beneficiary was disabled")
    _observe_twice(trial, people["a beneficiary"])


def _judge_disable(trial: Trial, person: Beneficiary, before: Exchange, name: str, aside: list[str]) -> None:
    rule = "beneficiary.disable"
    if not before.succeeded:
        trial.set_aside(rule, f"{name} cannot be read: {before.described()}", before, cause="read.equals-create")
        before = person.created
    answer = person.disable(f"{name} is disabled")
    if not trial.succeeded(rule, answer, f"{name} is disabled"):
        return
    expected = {**document(before), "status": "disabled"}
    # Which destinations the answer shows is for beneficiary.destinations to say.
    but = ["updated", "payout_destinations", *aside]
    judge_members(trial, rule, answer, expected, f"{name} is disabled", but=but, otherwise={**person.stated, "status": "disabled"})
    judge_moved(trial, "beneficiary.disable-moves-updated", before.get("updated"), answer, f"{name} is disabled")
    later = person.read(f"{name}, disabled, is read")
    if not later.succeeded:
        if trial.usable(rule, later):
            trial.judge(rule, False, f"{name}, disabled, is read: status disabled", later.described(), later)
        return
    expected["updated"] = answer.get("updated")
    judge_members(trial, rule, later, expected, f"{name}, disabled, is read", but=[one for one in aside if one != "status"])


def _observe_twice(trial: Trial, person: Beneficiary) -> None:
    again = person.disable("disabled a second time, with another key")
    status = again.get("status")
    seen = f"accepted, status {status}" if again.succeeded and isinstance(status, str) else again.described()
    trial.observe("beneficiary.disable-twice", "a beneficiary is disabled a second time", seen, again)


# ---------------------------------------------------------------------- destinations

@check("beneficiary.destinations")
def test_destinations_of_a_beneficiary(trial: Trial) -> None:
    """A beneficiary shows none, then one, then all of its destinations, more than fit on a page of a list, each as it
    was created, and never one of another beneficiary."""
    rule, scene = "beneficiary.destinations", trial.scene(fresh=True)
    owner, other = Beneficiary(trial, scene), Beneficiary(trial, scene)
    foreign = _destination(trial, scene, other)
    if foreign is None:
        raise Inconclusive("the server accepts no payout destination", "Say in the target file what it accepts: "
                           "[samples.payout_destination.bank_account].", "")
    act = {"getBeneficiary": owner.read, "disableBeneficiary": owner.disable,
           "updateBeneficiary": lambda purpose: owner.patch({"note": samples.marker()}, purpose)}[trial.operation.id]
    mine: list[Exchange] = []
    # Disabling is final, as far as is known: it shows all of them once.
    for count in (0, 1, 2, MANY) if trial.operation.id != "disableBeneficiary" else (MANY,):
        while len(mine) < count and (made := _destination(trial, scene, owner, wallet=len(mine) == 1)) is not None:
            mine.append(made)
        what = f"a beneficiary with {len(mine)} destination{'s' * (len(mine) != 1)}"
        answer = act(what)
        if trial.usable(rule, answer) and answer.succeeded:
            _judge_destinations(trial, answer, mine, foreign, what)


def _destination(trial: Trial, scene: Scene, owner: Beneficiary, wallet: bool = False) -> Exchange | None:
    """A new destination of a beneficiary, or None where the server refuses it."""
    bodies = [trial.suite.bank_account(scene)]
    if wallet:
        bodies = [*trial.suite.samples.wallet_destinations(), *bodies]
    for body in bodies:
        made = trial.send(call("createPayoutDestination", owner.ids, body), "a destination to be shown")
        if made.succeeded and isinstance(made.get("id"), str):
            return made
    return None


def _judge_destinations(trial: Trial, answer: Exchange, mine: list[Exchange], foreign: Exchange, what: str) -> None:
    owner = answer.call.path.split("/")[5]
    rule = "beneficiary.destinations"
    shown_ids = identifiers(answer.get("payout_destinations"))
    if shown_ids is None:
        trial.set_aside(rule, f"{what}: payout_destinations is no array of resources", answer, cause="format.fields")
        return
    wanted = sorted(str(one.get("id")) for one in mine)
    got = f"{len(shown_ids)} of which {len(set(shown_ids) & set(wanted))} are its own"
    if foreign.get("id") in shown_ids:
        got += ", and one of another beneficiary"
    trial.judge(rule, shown_ids == wanted, f"{what}: exactly {len(wanted)} in payout_destinations", got, answer)
    # What a second default does to the first, and what disabling does to destinations, is not shown.
    aside = ("object", "is_default", "updated", "status", "clabe_last4", "iban_masked", "wallet_address_masked")
    names = [name for name in documented("createPayoutDestination") if name not in aside]
    created = {one.get("id"): one for one in mine}
    for element in objects(answer.get("payout_destinations")):
        if (origin := created.get(element.get("id"))) is None:
            continue
        body = origin.call.document
        number = body.get("account_number")
        known = {**stated("createPayoutDestination", body, {"beneficiary_id": owner}), "account_number_last4": number and number[-4:]}
        for name in names:
            first = origin.get(name)
            if name in element and first not in (None, MISSING) and not any(
                alike("createPayoutDestination", name, element[name], one) for one in (first, known.get(name, first))
            ):
                trial.judge(rule, False, f"{what}: a destination's {name} as it was created, {shown(first)}", shown(element[name]), answer)
