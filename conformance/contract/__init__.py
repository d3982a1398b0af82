"""The API's contract, loaded from `spec/`: rules, operations, fields, schemas, signing, timestamps.

Pure: it knows no network, no target and no verdict."""
