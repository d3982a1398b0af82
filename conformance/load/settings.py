"""Settings of `conformance load`, passed to Locust's process as JSON in an environment variable."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec

from conformance._files import InputError
from conformance.contract.rules import Level
from conformance.target.file import Target

#: The environment variable; it contains credentials, as the target file does.
VARIABLE = "CONFORMANCE_LOAD_SETTINGS"


@dataclass(frozen=True)
class Settings:
    """A load run: target, folder of the report, label of created resources, selection in its verdict, and
    the options as given."""

    target: Target
    folder: str
    fail_on: Level = Level.REQUIRED
    label: str = ""
    selection: str = "load"
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls) -> Settings:
        """Takes the settings of this process. Raises InputError if `conformance load` did not start it."""
        try:
            return msgspec.json.decode(os.environ.pop(VARIABLE), type=cls)
        except KeyError:
            raise InputError(
                "this locustfile needs a target: start it with conformance load --target FILE -f LOCUSTFILE."
            ) from None
