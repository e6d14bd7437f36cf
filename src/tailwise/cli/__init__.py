"""The command ``tailwise``."""
