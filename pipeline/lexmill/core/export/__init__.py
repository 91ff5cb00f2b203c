"""Releases in the layouts that trainers read."""
