"""The command line: one command a file, gathered in `main.py`, all of them printing through `output.py`."""
