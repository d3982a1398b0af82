"""Changes of beneficiaries by PATCH (sections 2.3 and 4.2): of each field alone, and of several at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checks.beneficiaries import Beneficiary
from conformance.checks.check import CheckContext
from conformance.wire.messages import Exchange
from conformance.world import samples
from conformance.world.account import Account
from conformance.world.addresses import abroad
from conformance.world.bodies import BODIES, NAMES, bodies
from conformance.world.samples import Body
from conformance.world.shapes import SHAPES, accepted_body, accepts

_ACUTE = str.maketrans("aeiou", "\u00e1\u00e9\u00ed\u00f3\u00fa")

#: Names of the probes that change all fields, and the type of one business twice.
_SEVERAL = "several fields"
_TURNED, _BACK = "beneficiary_type of a business", "beneficiary_type of what was a business"


@dataclass(frozen=True)
class Change:
    """A PATCH and its beneficiary, by the name of its probe. The first of `bodies` that the server accepts is
    judged; it may refuse all if `refusable`. A `furnished` beneficiary has a destination that was paid."""

    name: str
    bodies: list[Body]
    person: Beneficiary
    refusable: bool = False
    furnished: bool = False

    def patched(self, what: str) -> tuple[Body, Exchange]:
        """Sends the bodies until one is accepted: the last one sent, and its answer."""
        for body in self.bodies:
            answer = self.person.patch(body, what)
            if answer.succeeded:
                break
        return body, answer


#: Other members of the sample's address: it stays one.
_NEARBY = {
    "address_line": "22 Other Road",
    "city": "New York City",
    "region": "New York",
    "postal_code": "10002",
}


def new_values(fixture: Account, moved: str = "address_line") -> Body:
    """New values for the fields of a beneficiary, close to the target file's where it sets them. Of the
    address one member changes, if the target file sets none: a server may compare only some of them."""
    own, word = fixture.run.samples, samples.marker()
    sample, told = own.beneficiary(), own.over("beneficiary")
    if "address" in told:
        moved = "address_line"
    phone = sample["phone"]
    if "phone" in told:
        phone = phone[:-1] + ("4" if phone.endswith("3") else "3")
    return {
        **NAMES,
        **{name: told[name] for name in NAMES.keys() & told.keys()},
        "display_name": f"Grace Hopper {word}",
        "email": f"{word}.{sample['email']}",
        "phone": phone,
        "address": {**sample["address"], moved: _NEARBY[moved]},
        "tax_id": sample["tax_id"],
        "country_code": sample["country_code"],
        "note": f"changed {word}",
    }


def _barely(fixture: Account, texts: Body) -> Body:
    """New values that a server which compares loosely takes for those of a beneficiary: in capitals, with an
    accent, a full stop, more words, or another region alone."""
    return {
        "first_name": texts["first_name"].upper(),
        "middle_name": texts["middle_name"].translate(_ACUTE),
        "last_name": f"{texts['last_name']}.",
        "display_name": f"{texts['display_name']} II",
        "address": new_values(fixture, "region")["address"],
    }


def planned_changes(ctx: CheckContext, fixture: Account) -> Iterator[Change]:
    """The changes, each with a new beneficiary."""
    for name in (*new_values(fixture), _SEVERAL):
        employed = accepted_body(fixture, "createBeneficiary", "individual with company_name")
        values, person = new_values(fixture, "city"), Beneficiary(ctx, fixture, employed)
        several = {**values, "display_name": f"Grace B. Hopper {samples.marker()}"}
        furnished = name == _SEVERAL and person.furnish(fixture)
        tries = [several if name == _SEVERAL else {name: values[name]}]
        near = {"country_code": abroad(values), **_barely(fixture, employed)}
        if name in near:
            tries.insert(0, {name: near[name]})
        yield Change(name, tries, person, furnished=furnished)
    company = {"company_name": f"Compilers {samples.marker()}"}
    # A server may allow a business neither title nor middle name.
    several = {
        name: value
        for name, value in new_values(fixture, "postal_code").items()
        if name not in ("beneficiary_type", "company_name", "title", "middle_name")
    }
    for name, body, shape in (
        ("company_name", company, "business"),
        ("note of a business", {**several, "first_name": "Mary", "last_name": "Lee"}, "business"),
        (_TURNED, {"beneficiary_type": "individual"}, "business"),
        # Last: a server that changes the type of others too would spoil the probe before.
        ("beneficiary_type and company_name", {"beneficiary_type": "business", **company}, ""),
    ):
        if accepts(ctx.run, "createBeneficiary", "business"):
            created = accepted_body(fixture, "createBeneficiary", shape) if shape else None
            person = Beneficiary(ctx, fixture, created)
            yield Change(name, [body], person)
            if name == _TURNED:
                yield Change(_BACK, [{"beneficiary_type": "business"}], person)
    for name in (row for row in BODIES[ctx.operation.id] if row not in SHAPES[ctx.operation.id]):
        if tries := bodies(fixture, ctx.operation.id, name):
            yield Change(name, tries, Beneficiary(ctx, fixture), refusable=True)
