"""Declare the compiled kernels: optional, as speedproof falls back to Python without them."""

import sys
from pathlib import Path

from setuptools import Extension, setup


def kernels(name: str) -> Extension:
    """A module of C beside its Python twin, in one file or with headers of its name."""
    source = Path("src", *name.split("."))
    return Extension(
        name,
        sources=[f"{source}.c"],
        depends=sorted(map(str, source.parent.glob(f"{source.name}_*.h"))),
        # Fused multiply-add would make the result depend on the machine's instruction set.
        extra_compile_args=["-std=c11", "-O3", "-g0", "-ffp-contract=off"],
        define_macros=[("Py_LIMITED_API", "0x030B0000")],
        py_limited_api=True,
        optional=True,
    )


setup(
    ext_modules=[
        kernels("speedproof.formats._go"),
        *[kernels("speedproof.measuring._start")] * (sys.platform == "linux"),
        kernels("speedproof.mixture._em"),
        kernels("speedproof.stats._levels"),
        kernels("speedproof.stats._merging"),
        kernels("speedproof.stats._scores"),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": True}},
)
