"""Scenarios: one file per experiment, with settings, metrics, figures and the values the paper gives."""
