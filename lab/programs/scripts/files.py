"""The tools of an agent, as functions that each framework makes its own tools of."""

from pathlib import Path


def write_file(path: str, content: str) -> str:
    """Writes a text into a file.

    Args:
        path: Where the file is.
        content: The whole text.

    Returns:
        What was done.
    """
    Path(path).write_text(content)
    return f"{len(content)} characters written."


def read_file(path: str) -> str:
    """Reads a file.

    Args:
        path: Where the file is.

    Returns:
        Its text.
    """
    return Path(path).read_text()
