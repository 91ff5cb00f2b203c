"""Everything that touches the workspace: every file of a run is written, read back and fingerprinted here."""
