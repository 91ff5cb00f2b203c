"""Raw bytes of one file to clean text: decode, read its records, find their fields, repair, clean."""
