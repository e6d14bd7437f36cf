"""The exit codes of the command."""

__all__ = ["BAD_INPUT", "BROKEN_PIPE", "INTERNAL", "INTERRUPTED"]

BAD_INPUT, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141
