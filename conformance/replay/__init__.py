"""Replay files: a failure as the requests that show it, for anyone to send again.

A file (its form is in replay.schema.json) holds the steps with ids, keys and credentials as symbols, and the
finding's own expectation, which judges the new answers as it judged the old ones."""

from conformance.replay.format import load
from conformance.replay.record import document_of, save
from conformance.replay.run import Replayed, perform
from conformance.replay.script import as_python

__all__ = ["Replayed", "as_python", "document_of", "load", "perform", "save"]
