"""SavedModels that take strings."""
