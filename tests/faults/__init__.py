"""Faulty servers: at least one for each rule on each operation that the rule covers."""
