"""What a mixture may be fitted to: values that are independent, or the note that they are not."""

from __future__ import annotations

from speedproof.data.sample import Sample

_LEAST_PROCESSES = 10


def independent(sample: Sample) -> tuple[Sample, str]:
    """One value a process where there are processes enough for a mixture, and what was done, in words."""
    if not sample.nested:
        return sample, ""
    count = sample.process_count
    if count >= _LEAST_PROCESSES:
        return sample.per_process("median"), f"{count} processes, one value each: the median of its values"
    return sample, (
        f"{sample.n} values of {count} process{'es' if count > 1 else ''} are not independent: no test; "
        f"measure {_LEAST_PROCESSES} processes or more"
    )
