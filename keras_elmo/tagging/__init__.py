"""Taggers: from words to the names of their tags."""
