"""placeholder"""
from types import SimpleNamespace

pandas = SimpleNamespace()
api = SimpleNamespace(extensions=SimpleNamespace())
