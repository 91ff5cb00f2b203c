"""Documents measured, then judged by rules that are data."""
