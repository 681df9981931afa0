"""What is left of a row whose server did not come up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.matrix.file import load_matrix
from fixtures.measuring import serving as module
from fixtures.measuring.serving import serving

ROW = load_matrix().row("canary-stock-fa_on-cpu")


@pytest.mark.parametrize("said", ["", "error: no"])
def test_a_folder_is_left_only_where_it_holds_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    @contextmanager
    def interrupted(row: object, *, folder: Path, **_: Any) -> Iterator[None]:
        if said:
            (folder / "server.log").write_text(said)
        raise KeyboardInterrupt
        yield

    options = SimpleNamespace(resume=None, base_url=None, server_python=None)
    suite: Any = SimpleNamespace(
        options=options,
        terminal=SimpleNamespace(say=print),
        preflight=lambda row: None,
        folder=lambda row: folder,
    )
    monkeypatch.setattr(module, "start_server", interrupted)
    with pytest.raises(KeyboardInterrupt), serving(suite, ROW):
        pass
    assert folder.exists() is bool(said)
