"""What pyproject.toml cannot say: a wheel carries the jars, the generated code and the examples, all of one state.

The jars are built from java/ when they are missing, older than the sources, or speak another contract than proto/.
The extension by which TensorFlow knows ignite:// is compiled without TensorFlow, and against Python's stable ABI, so
that one wheel serves every version of Python. Where it cannot be compiled, everything else is installed without it.
Everything else about the package stands in pyproject.toml.
"""

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "python" / "tensorflow_ignite"
JARS = PACKAGE / "jars"
GENERATED_DIGEST = PACKAGE / "v1" / "proto.sha256"
BUILD_JARS = ["gradle", "--no-daemon", "-q", "packageJars"]
PLUGIN = Path("python", "tensorflow_ignite", "storage", "tf")


def proto_digest() -> str:
    """SHA-256 over proto/, in the order of the relative paths; gradle/proto.gradle computes the same."""
    proto = ROOT / "proto"
    digest = hashlib.sha256()
    for path in sorted(proto.rglob("*.proto"), key=lambda path: path.relative_to(proto).as_posix()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def jars_are_current() -> bool:
    """Whether there is one plugin jar, newer than the Java sources, that speaks the contract of proto/."""
    jars = list(JARS.glob("tensorflow-ignite-*.jar"))
    if len(jars) != 1:
        return False
    sources = [path for path in (ROOT / "java" / "src" / "main").rglob("*") if path.is_file()]
    if any(path.stat().st_mtime > jars[0].stat().st_mtime for path in sources):
        return False
    with zipfile.ZipFile(jars[0]) as archive:
        return archive.read("tensorflow_ignite/proto.sha256").decode().strip() == proto_digest()


class BuildPy(build_py):
    """Adds the jars and the examples, and refuses to pack what does not belong together."""

    def run(self) -> None:
        """Builds; an editable install leaves the jars to `make jars`."""
        if not getattr(self, "editable_mode", False):
            self._check_generated_python()
            self._make_jars()
        super().run()
        if not getattr(self, "editable_mode", False):
            examples = Path(self.build_lib) / "tensorflow_ignite" / "examples"
            examples.mkdir(parents=True, exist_ok=True)
            for script in sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.ipynb")]):
                shutil.copy2(script, examples / script.name)

    def _check_generated_python(self) -> None:
        generated = GENERATED_DIGEST.read_text().strip() if GENERATED_DIGEST.exists() else None
        if generated != proto_digest():
            raise SystemExit(
                f"The generated Python in {PACKAGE / 'v1'} does not match proto/ (made from {generated}, proto/ is "
                f"{proto_digest()}). Generate it again, in {ROOT}: make proto"
            )

    def _make_jars(self) -> None:
        if jars_are_current():
            return
        command = " ".join(BUILD_JARS)
        if shutil.which(BUILD_JARS[0]) is None:
            raise SystemExit(
                f"The jars in {JARS} are missing or older than the sources, and Gradle, which builds them, "
                f"is not installed. Install Gradle 4.4 or later (Debian: apt-get install gradle), then run in {ROOT}: "
                f"{command}"
            )
        if subprocess.run(BUILD_JARS, cwd=ROOT, check=False).returncode != 0 or not jars_are_current():
            raise SystemExit(f"Building the jars failed; see above. Run it by hand, in {ROOT}: {command}")


setup(
    cmdclass={"build_py": BuildPy},
    ext_modules=[
        Extension(
            "tensorflow_ignite.storage.tf._plugin",
            sources=[str(PLUGIN / name) for name in ("plugin.c", "python_calls.c", "writing.c")],
            depends=[str(PLUGIN / name) for name in ("python_calls.h", "tensorflow_abi.h", "writing.h")],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            # Unwinding of threads that Python ends must meet our handlers: -fexceptions.
            extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-fexceptions", "-fvisibility=hidden"],
            libraries=["dl", "pthread"],
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
