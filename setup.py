"""Declare the compiled EM kernels: optional, as speedproof falls back to NumPy without them."""

from setuptools import Extension, setup

PARTS = ("data", "runs", "scout", "search", "table")

setup(
    ext_modules=[
        Extension(
            "speedproof.mixture._em",
            sources=["src/speedproof/mixture/_em.c"],
            depends=[
                f"src/speedproof/mixture/_em_{part}.h"
                for part in ("data", "runs", "scout", "search", "table")
            ],
            # Fused multiply-add would make the result depend on the machine's instruction set.
            extra_compile_args=["-std=c11", "-O3", "-g0", "-ffp-contract=off"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
