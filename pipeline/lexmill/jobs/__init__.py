"""The stages as jobs: the only modules that know Dask; each is thin, and they meet on disk."""
