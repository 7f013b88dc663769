"""Benchmarks of a checkout: `make bench` or `grouser bench [NAME …]`."""
