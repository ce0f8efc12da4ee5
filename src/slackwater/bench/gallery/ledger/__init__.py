"""A bank's ledger with corrections: a feed of postings that are changed and reversed, beside bank statements."""
