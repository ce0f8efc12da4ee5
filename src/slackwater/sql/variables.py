"""`${x}` in a query: Spark would put a setting or a variable of the environment there before it reads the text.

Slackwater puts nothing there, so that a query means the same wherever it is read; and because whoever writes `'${day}'`
hardly means those six letters, such a query is refused.
"""

from __future__ import annotations

import re

from slackwater.errors import Place, UnsupportedError
from slackwater.sql.tokens import tokens_of, written

_VARIABLE = re.compile(r"\$\{[^}\s]*\}?")


def check_no_variables(text: str, file: str | None) -> None:
    """Refuses a query with `${x}` outside of comments."""
    for token in tokens_of(text) or ():
        if variable := _VARIABLE.search(written(text, token)):
            before = text[: token.start + variable.start()]
            raise UnsupportedError(
                f"`{variable[0]}` is not replaced by a value",
                place=Place(file, before.count("\n") + 1, len(before) - before.rfind("\n")),
                hint=r"write the value itself, or '\u0024{' where these letters are meant",
            )
