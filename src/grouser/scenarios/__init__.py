"""Experiments as data: one file each, with settings, metrics, figures and what the paper says."""
