"""Prints the answers of all families, or of the ops whose ids start with the argument."""

import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True

import reference


def load(path):
    """Runs a family's file. By its path, because `time` is also a module of Python."""
    spec = importlib.util.spec_from_file_location("answers_of_" + path.stem, path)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "__main__":
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem not in ("answers", "reference"):
            load(path)
    for line in reference.lines(sys.argv[1] if len(sys.argv) > 1 else ""):
        print(line)
