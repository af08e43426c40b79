"""Finds, downloads, checks and atomically writes files of any kind."""
