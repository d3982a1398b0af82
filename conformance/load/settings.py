"""Settings of `conformance load` for the Locust process that it becomes: one environment variable of JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import msgspec

from conformance._files import InputError
from conformance.contract.rules import Level
from conformance.target.file import Target

#: The variable; it holds the credentials of the target file, as the file itself does.
VARIABLE = "CONFORMANCE_LOAD_SETTINGS"


@dataclass(frozen=True)
class Settings:
    """A load run: its target, the folder of its report, the label of what it creates, its name in reports.
    `options` are as the user gave them. The process has them as JSON."""

    target: Target
    folder: str
    fail_on: Level = Level.REQUIRED
    label: str = ""
    told: str = "load"
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls) -> Settings:
        """Those of this process. Raises InputError where Locust was not started by `conformance load`."""
        try:
            return msgspec.json.decode(os.environ[VARIABLE], type=cls)
        except KeyError:
            raise InputError(
                "this locustfile needs a target: start it with conformance load --target FILE -f LOCUSTFILE."
            ) from None
