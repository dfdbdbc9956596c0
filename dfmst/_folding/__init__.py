"""The forest of rows that arrive in parts."""
