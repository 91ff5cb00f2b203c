"""When two documents are one: comparison copies, signatures, candidate pairs, verdicts. Pure: tables in, tables out."""
