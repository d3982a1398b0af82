"""Replay files: the requests that reproduce a failure.

A file (replay.schema.json) holds the requests, with symbols for ids, keys and credentials, and the finding's
expectation, which judges the new answers."""

from conformance.replay.format import load
from conformance.replay.record import document_of, save
from conformance.replay.run import Replayed, perform
from conformance.replay.script import as_python

__all__ = ["Replayed", "as_python", "document_of", "load", "perform", "save"]
