"""Human review: how many to read, which, what the verdicts prove, and the files that reviewers fill in."""
