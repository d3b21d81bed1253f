"""Text from data, shown as text: names in a file must not become links, pictures or formulas."""

import re

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+.!|~$:^=-])")


def plain(text: object) -> str:
    """Text with all of Markdown's marks escaped.

    >>> plain("![x](http://y) :red[z]")
    '\\\\!\\\\[x\\\\]\\\\(http\\\\://y\\\\) \\\\:red\\\\[z\\\\]'
    """
    return _MARKS.sub(r"\\\1", str(text))
