"""Pure functions over text and Arrow tables: no files, no Dask, no clock, no globals."""
