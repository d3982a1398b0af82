"""Deliberately faulty servers: at least one for each rule on each operation that it covers."""
