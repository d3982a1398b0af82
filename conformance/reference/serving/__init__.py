"""Serves the reference server: over sockets as an ASGI application, in a child process, or in this
process."""
