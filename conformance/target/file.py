"""The target file: facts about a server that the API does not tell.

A target comes from a TOML file, overridden by the environment, overridden by `--base-url`. Single values are
validated by spec/target.schema.json, combinations of them here. A mistake raises `InputError`, which names
the key and what it should hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance._files import InputError, read_toml
from conformance.contract.needs import REFERENCES
from conformance.target import environment, schema, tls
from conformance.target.model import NO_FILES, Features, Limits, Organization, Target, Tls

__all__ = ["NO_FILES", "Features", "Limits", "Organization", "Target", "Tls", "build", "load"]


def build(tables: Mapping[str, Any], source: str, folder: Path | None = None) -> Target:
    """Builds a Target; paths in [tls] are relative to `folder`, by default the current one.

    Raises InputError, prefixed with `source`, such as a file name.
    """
    if problem := schema.mistake(tables):
        raise InputError(f"{source}: {problem}")
    if "base_url" not in tables:
        raise InputError(f"{source}: base_url: missing; give the server's address there or with --base-url.")
    features = Features(**tables.get("features", {}))
    primary = _organization("primary", tables, source)
    secondary = _organization("secondary", tables, source) if tables.get("secondary") else None
    if problem := _mistake(primary, secondary, features):
        raise InputError(f"{source}: {problem}")
    return Target(
        base_url=tables["base_url"].rstrip("/"),
        primary=primary,
        secondary=None if features.secondary is False else secondary,
        features=features,
        array_style=tables.get("lists", {}).get("array_style", "repeat"),
        style_stated="array_style" in tables.get("lists", {}),
        limits=Limits(**{key: float(value) for key, value in tables.get("limits", {}).items()}),
        tls=_tls(tables.get("tls", {}), source, folder or Path()),
        samples=_by_kind(tables.get("samples", {})),
    )


def _mistake(primary: Organization, secondary: Organization | None, features: Features) -> str:
    """A mistake in values that are right one by one; empty if there is none."""
    customers = (primary.customer_id, primary.other_customer_id)
    if secondary is None and features.secondary:
        return "features.secondary is true, but there is no [secondary] table with its credentials."
    if secondary and features.secondary is not False:
        if secondary.api_key == primary.api_key:
            return (
                "secondary.api_key: it should be the key of another organization, not primary.api_key again."
            )
        if secondary.customer_id in customers:
            return (
                "secondary.customer_id: it should be a customer of the other organization, "
                "not one of [primary]."
            )
    if primary.other_customer_id == primary.customer_id:
        return "primary.other_customer_id: it should be another customer than primary.customer_id."
    payee = tuple(REFERENCES["createPayout"])
    absent = [name for name in (*payee, "funded_account_id") if getattr(primary, name) is None]
    if absent and any(getattr(primary, name) for name in payee):
        return (
            f"primary.{absent[0]}: missing; a payee of the funded account is named by "
            "beneficiary_id, payout_destination_id and funded_account_id together."
        )
    return ""


def _tls(table: Mapping[str, str], source: str, folder: Path) -> Tls:
    files = Tls(**{key: str((folder / path).absolute()) for key, path in table.items()})
    if problem := tls.mistake(files):
        raise InputError(f"{source}: {problem}")
    return files


def _by_kind(samples: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Samples by kind, such as `beneficiary` and `payout_destination.wallet`."""
    kinds = {kind: fields for kind, fields in samples.items() if kind != "payout_destination"}
    destinations = samples.get("payout_destination", {})
    return kinds | {f"payout_destination.{kind}": fields for kind, fields in destinations.items()}


def _organization(name: str, tables: Mapping[str, Any], source: str) -> Organization:
    table = tables.get(name, {})
    for key in schema.keys("secondary"):
        if key not in table:
            raise InputError(
                f"{source}: {name}.{key}: missing; put it in the target file or in the environment "
                f"as {environment.variable(name, key)}."
            )
    return Organization(name=name, **table)


def load(path: Path | None, variables: Mapping[str, str], base_url: str | None = None) -> Target:
    """Loads a target from file, environment and `--base-url`. Raises InputError."""
    tables = read_toml(path, "target file", "`conformance init` writes one")[1] if path else {}
    tables = environment.laid_over(tables, variables)
    if base_url:
        if problem := schema.mistake({"base_url": base_url}):
            raise InputError(f"--{problem.replace('base_url', 'base-url', 1)}")
        tables = {**tables, "base_url": base_url}
    source = str(path) if path else "target (no --target file given)"
    return build(tables, source, path.parent if path else None)
