"""File formats: one registry, a reader and a writer each, and what they share."""
