"""The command line of `python -m evals`, as tests call it."""

import pytest

from evals.__main__ import main


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Exit code, output and error output."""
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err
