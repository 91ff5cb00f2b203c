"""What a compliance officer files with a release: figures, tables, and clauses of standards judged by them."""
