"""The reference server on sockets, as an ASGI application, in a process of its own, or in this process."""
