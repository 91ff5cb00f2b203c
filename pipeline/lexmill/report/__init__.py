"""What a run says of itself, from manifests and ledgers only."""
