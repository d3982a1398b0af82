"""Replay files: written from failures, and sent again."""
