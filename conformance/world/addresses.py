"""Addresses of beneficiaries, each made from a sample body, that a server may take for something else."""

from __future__ import annotations

from conformance.world.samples import LETTERS, Body, address


def abroad(sample: Body) -> str:
    """A country other than that of the sample's payout destination."""
    return "DE" if sample.get("country_code") != "DE" else "US"


def address_abroad(sample: Body) -> Body:
    # A postal code is no number; the country is not where the money goes.
    return {**address("region"), "city": "Dresden", "postal_code": "01067", "country": abroad(sample)}


#: With a space in each of its members, words that begin small, and apostrophes.
ENGLISH_ADDRESS = {
    "address_line": "10 McAdam's Yard, flat 2b",
    "city": "King's Lynn and West Norfolk",
    "region": "Tyne and Wear",
    "postal_code": "NE1 4ST",
    "country": "GB",
}


def english_address(sample: Body) -> Body:
    """An English address, for a sample from there another one abroad."""
    return address_abroad(sample) if sample.get("country_code") == "GB" else ENGLISH_ADDRESS


def foreign_street(sample: Body) -> Body:
    return {**sample["address"], "address_line": LETTERS, "city": LETTERS}


def long_address(sample: Body) -> Body:
    """An address longer than the lines of bank forms, in a place in Wales."""
    city = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
    return {**sample["address"], "address_line": "Old Station Road 1, " * 6 + "Building 7", "city": city}


def longest_address(sample: Body) -> Body:
    """An address whose members are longer than the usual columns: no greatest length is stated."""
    members = {"address_line": 600, "city": 300, "region": 300, "postal_code": 60}
    return {
        **sample["address"],
        **{name: ("Building 12, " * 50)[: size - 1] + "x" for name, size in members.items()},
    }
