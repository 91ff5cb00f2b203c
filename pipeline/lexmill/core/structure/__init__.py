"""What a document is made of: its case number, its metadata, its segments, its type."""
