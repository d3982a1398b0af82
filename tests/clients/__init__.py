"""Tests of the judging of clients: right ones are clean under every provocation, wrong ones are caught by
their rule."""
