"""What `make test` and `make test-all` run: phases one after the other, each with the machine for itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "build/reports"

PYTEST = (
    f"{ROOT}/.venv/bin/pytest",
    "-q",
    "--disable-warnings",
    "-o",
    "junit_family=xunit1",
    "-o",
    "junit_duration_report=total",
)
GRADLE = ("gradle", "--no-daemon", "-q")
# The schedule of faults, of which `make chaos` runs more.
CHAOS = ("SEED=1", "FAULTS=8")


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a phase."""

    name: str
    arguments: tuple[str, ...]
    tool: str = "command"
    environment: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Phase:
    """Commands that run side by side."""

    name: str
    commands: tuple[Command, ...]


def _pytest(name: str, marker: str, *arguments: str, workers: int = 2, environment: tuple[str, ...] = ()) -> Phase:
    # A group of tests has one worker; tests/integration/conftest.py says which tests form a group.
    # A test that ends its worker is run again in the next one, until there may be no further worker.
    spread = ("--dist=loadgroup", "--no-loadscope-reorder", "--max-worker-restart=2")
    spread = (f"--numprocesses={workers}", *spread) if workers else ()
    return Phase(name, (Command(name, (*PYTEST, *spread, "-m", marker, *arguments), "pytest", environment),))


def _integration(*patterns: str) -> tuple[str, ...]:
    folder = ROOT / "tests/integration"
    return tuple(
        str(path.relative_to(ROOT)) for pattern in patterns for path in sorted(folder.glob(f"test_{pattern}.py"))
    )


_JAVA = Phase(
    "java",
    (
        Command("java", (*GRADLE, "checkFormat", "test", "integrationTest", "--continue"), "gradle"),
        Command("lint", ("make", "--no-print-directory", "lint-python", "lint-proto")),
    ),
)
# Many unit tests wait more than they compute.
_UNIT = _pytest("unit", "not full", "--dist=worksteal", "tests/unit", workers=4)

TEST = (_JAVA, _UNIT, _pytest("nodes", "not full", "tests/integration"))

_SECURITY = _integration("security_*", "http_secured", "untrusted", "network_*", "job_isolation")
_FAULTS = _integration(
    *("cut_network", "data_loss", "drain", "fence_*", "job_processes", "job_quarantine", "killed_node"),
    *("kinds_lost_node_tensorflow", "moving_partitions", "persistence", "planned_end", "storage_loss", "topology"),
)
_DOCS = _integration("examples", "quickstart", "snippets", "stock_ignite")
_TENSORFLOW = tuple(
    path for path in _integration("*_tensorflow*", "kinds_keras") if path not in (*_SECURITY, *_FAULTS, *_DOCS)
)
_OTHERS = tuple(path for path in _integration("*") if path not in (*_SECURITY, *_FAULTS, *_DOCS, *_TENSORFLOW))

# The abuse asserts that others are served in time, and faults of chaos have durations: one process.
PARTS: dict[str, tuple[Phase, ...]] = {
    "java": (
        Phase(
            "java-full", (Command("java-full", (*GRADLE, "test", "integrationTest", "--continue", "-Pfull"), "gradle"),)
        ),
    ),
    "others": (
        _pytest("unit-full", "full", "--dist=worksteal", "tests/unit"),
        _pytest("others", "full", *_OTHERS),
    ),
    "security": (_pytest("security", "full", *_SECURITY),),
    "tensorflow": (_pytest("tensorflow", "full", *_TENSORFLOW),),
    # Each example stands for itself.
    "docs": (_pytest("docs", "full", "--dist=worksteal", *_DOCS),),
    "faults": (
        _pytest("faults", "full", *_FAULTS),
        _pytest("abuse", "", "tests/abuse", workers=0),
        _pytest("chaos", "", "tests/chaos/test_chaos.py", workers=0, environment=CHAOS),
    ),
    "bench": (_pytest("bench", "", "tests/benchmarks"),),
}
