"""The command line: a module for each command or family of commands, collected in `main.py`; all print through
`output.py`."""
