"""What several tests share: servers, callers, runs and made-up results."""
