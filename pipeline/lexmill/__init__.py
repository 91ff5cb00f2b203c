"""lexmill turns raw Chinese legal text into de-identified, deduplicated, tokenised pretraining shards."""
