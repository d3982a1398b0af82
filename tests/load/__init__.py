"""Load runs on faulty and conforming servers."""
