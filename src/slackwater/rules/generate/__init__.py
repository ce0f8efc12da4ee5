"""TVR-generating rules: a form of an operator from forms of its inputs."""
