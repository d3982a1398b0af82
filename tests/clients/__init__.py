"""Judging of clients: correct ones pass under every provocation, faulty ones break their rule."""
