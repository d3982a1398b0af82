"""The pytest plugin: options, collection, the controller of a run and its workers.

Hooks translate; what is judged, and how, is not known here."""
