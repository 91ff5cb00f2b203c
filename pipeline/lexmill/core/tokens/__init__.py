"""Documents to token ids, packed sequences and shards."""
