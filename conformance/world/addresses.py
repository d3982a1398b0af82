"""Valid but unusual addresses of beneficiaries, each derived from a sample body."""

from __future__ import annotations

from conformance.world.samples import LETTERS, Body, address


def abroad(sample: Body) -> str:
    """A country other than that of the sample's payout destination."""
    return "DE" if sample.get("country_code") != "DE" else "US"


def address_abroad(sample: Body, region: str = "region") -> Body:
    # The postal code has a leading zero; the country differs from the destination's.
    return {**address(region), "city": "Dresden", "postal_code": "01067", "country": abroad(sample)}


def moved_abroad(sample: Body) -> Body:
    return {**sample["address"], "country": abroad(sample)}


#: With spaces, apostrophes and words in lower case.
ENGLISH_ADDRESS = {
    "address_line": "10 McAdam's Yard, flat 2b",
    "city": "King's Lynn and West Norfolk",
    "region": "Tyne and Wear",
    "postal_code": "NE1 4ST",
    "country": "GB",
}


def english_address(sample: Body) -> Body:
    """An English address; a German one for a sample from England."""
    return address_abroad(sample) if sample.get("country_code") == "GB" else ENGLISH_ADDRESS


def foreign_street(sample: Body) -> Body:
    return {**sample["address"], "address_line": LETTERS, "city": LETTERS}


def long_address(sample: Body) -> Body:
    """An address whose street and city are longer than the lines of bank forms."""
    city = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
    return {**sample["address"], "address_line": "Old Station Road 1, " * 6 + "Building 7", "city": city}


def longest_address(sample: Body) -> Body:
    """An address longer than usual database columns: no maximum is stated."""
    members = {"address_line": 600, "city": 300, "region": 300, "postal_code": 60}
    return {
        **sample["address"],
        **{name: ("Building 12, " * 50)[: size - 1] + "x" for name, size in members.items()},
    }
