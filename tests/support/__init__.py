"""Servers, clients, runs and sample results that several folders of tests share."""
