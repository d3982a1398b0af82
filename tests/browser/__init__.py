"""Report and sandbox pages in Chromium."""
