"""Text tables: blocks of lines, the fast parser, the exact one, and column types."""
