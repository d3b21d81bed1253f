"""Text from data, shown as text: names in a file must not become links, pictures or formulas."""

import re

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+.!|~$:^=@&-])")
# Addresses become links even when every mark is escaped; an invisible character between keeps them apart.
_ADDRESSES = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_JOINER = "\N{WORD JOINER}"


def plain(text: object) -> str:
    """Text with all of Markdown's marks escaped.

    >>> plain("![x](y) :red[z]")
    '\\\\!\\\\[x\\\\]\\\\(y\\\\) \\\\:red\\\\[z\\\\]'
    """
    return _MARKS.sub(r"\\\1", _ADDRESSES.sub(_JOINER, str(text)))
