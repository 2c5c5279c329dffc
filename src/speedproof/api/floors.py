"""The noise floor that a history's store tells, for comparisons and gates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from speedproof.errors import UsageError

if TYPE_CHECKING:
    from speedproof.protocols.noise_floor import NoiseFloor


def floor_of(store: str | os.PathLike[str]) -> NoiseFloor:
    """How much sessions of one commit differ in a store; a store that cannot tell is refused."""
    where = os.fspath(store)
    from speedproof.api.history import History

    found = History(where).floor()
    if found is None:
        raise UsageError(
            f"{where}: no commit was measured in two sessions on one machine, so how much sessions differ is not "
            "known; measure one again and add it with 'speedproof history add FILE --commit REV'"
        )
    return found
