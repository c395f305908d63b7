"""What pyproject.toml cannot say: a wheel carries jars, generated code, configurations and examples of one state.

The jars are built from java/ when they are missing, older than the sources, or speak another contract than proto/; see
build_backend.py. The extension by which TensorFlow knows ignite:// is compiled without TensorFlow, and against Python's
stable ABI, so that one wheel serves every version of Python. Where it cannot be compiled, everything else is installed
without it. A wheel for clients has no jars and no extension. Everything else stands in pyproject.toml.
"""

import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
# setuptools runs this file without its folder on the path.
sys.path.insert(0, str(ROOT))

import build_backend  # noqa: E402

PACKAGE = build_backend.PACKAGE
GENERATED_DIGEST = PACKAGE / "v1" / "proto.sha256"
PLUGIN = Path("python", "tensorflow_ignite", "storage", "tf")
# Folders of the repository that a package carries beside its modules.
CARRIED = {"examples": ("examples", ("*.py", "*.md", "*.ipynb")), "config": ("java/config", ("*.xml",))}


class BuildPy(build_py):
    """Adds the jars, configurations and examples, and refuses to pack what does not belong together."""

    def run(self) -> None:
        """Builds; an editable install leaves the jars to `make jars`."""
        if getattr(self, "editable_mode", False):
            super().run()
            return
        self._check_generated_python()
        if not build_backend.FOR_CLIENTS:
            build_backend.make_jars()
        super().run()
        if build_backend.FOR_CLIENTS:
            shutil.rmtree(Path(self.build_lib, "tensorflow_ignite", "jars"), ignore_errors=True)
        for folder, (source, patterns) in CARRIED.items():
            target = Path(self.build_lib) / "tensorflow_ignite" / folder
            target.mkdir(parents=True, exist_ok=True)
            for path in sorted(path for pattern in patterns for path in (ROOT / source).glob(pattern)):
                shutil.copy2(path, target / path.name)

    def _check_generated_python(self) -> None:
        generated = GENERATED_DIGEST.read_text().strip() if GENERATED_DIGEST.exists() else None
        if generated != build_backend.proto_digest():
            raise SystemExit(
                f"The generated Python in {PACKAGE / 'v1'} does not match proto/ (made from {generated}, proto/ is "
                f"{build_backend.proto_digest()}). Generate it again, in {ROOT}: make proto"
            )


EXTENSION = Extension(
    "tensorflow_ignite.storage.tf._plugin",
    sources=[str(PLUGIN / name) for name in ("plugin.c", "python_calls.c", "writing.c")],
    depends=[str(PLUGIN / name) for name in ("python_calls.h", "tensorflow_abi.h", "writing.h")],
    define_macros=[("Py_LIMITED_API", "0x030A0000")],
    py_limited_api=True,
    # Unwinding of threads that Python ends must meet our handlers: -fexceptions.
    # No debugging information, which would name the folder of the build: two builds have equal bytes.
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-fexceptions", "-fvisibility=hidden", "-g0"],
    libraries=["dl", "pthread"],
    optional=True,
)

setup(
    cmdclass={"build_py": BuildPy},
    ext_modules=[] if build_backend.FOR_CLIENTS else [EXTENSION],
    options={} if build_backend.FOR_CLIENTS else {"bdist_wheel": {"py_limited_api": "cp310"}},
)
