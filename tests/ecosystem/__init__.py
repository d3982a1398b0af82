"""The contract in third-party tools: the bundled OpenAPI document, linters, generators, mock servers."""
