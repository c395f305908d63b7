"""The benchmarks run: every contender does the same, and every figure is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from namespaces import require_namespaces

ROOT = Path(__file__).resolve().parents[2]
FIGURES = {
    *(
        f"{who}_{what}"
        for who in ("local", "later", "remote", "flight", "bound", "tfrecord")
        for what in ("1mb", "small")
    ),
    *(f"{who}_{what}" for who in ("pyignite", "pyignite_put", "load") for what in ("1mb", "small")),
    *(f"{who}_small_graph" for who in ("local", "later", "remote", "flight", "tfrecord", "loop")),
    *("thin_1mb", "tcp", "memcpy", "loop_small", "bound_load_1mb"),
    *("load_small_table", "pyignite_put_small_table"),
}
# For two workers or nodes, except for those that have no size.
RECOVERY_FIGURES = {
    *("submit_to_step_seconds 2", "floor_seconds 2", "recover_worker_seconds", "recover_node_seconds"),
    *("idle_cpu_percent 2", "stock_cpu_percent 2", "report_cpu_percent 2"),
    "running_job_cpu_percent 2",
    *("packets_per_second 2", "idle_packets_per_second 2"),
}

LIVE_WORK = ("training", "reading")
LIVE_FIGURES = {
    *(f"oltp_{part}_{name}_ms" for part in ("p50", "p99") for name in ("idle", *LIVE_WORK)),
    *(f"{name}_{what}" for name in LIVE_WORK for what in ("share", "steps_per_second")),
    *("put_to_step_p50_seconds", "put_to_step_p99_seconds", "writer_rate", "writer_rate_alone", "writer_share"),
    *("writer_most_alone", "writer_most_share"),
    *("full_epoch_seconds", "refresh_1_percent_seconds", "refresh_nothing_seconds", "refreshed_epoch_seconds"),
}

# Without Ray, of two workloads.
TRAINING_FIGURES = {
    f"{name}{suffix}"
    for suffix in ("_images", "_table")
    for name in (
        *(f"{who}_{what}" for who in ("by_hand", "job") for what in ("epoch", "first", "total", "cpu")),
        *("by_hand_files_first", "nodes_cpu"),
    )
}

# Without Ray.
PREDICT_FIGURES = {
    *("batch_rows", "by_hand_rows", "batch_whole_rows", "by_hand_whole_rows", "by_hand_all_rows"),
    *("node_cpu_microseconds", "by_hand_cpu_microseconds", "online_p50_ms", "online_p99_ms", "online_peak"),
    *("rollover_failed", "rollover_p99_ms", "rollover_before_p99_ms", "rollover_seconds"),
}

# What a job adds may be less than the noise of a short window.
NOISY = ("report_cpu_percent", "running_job_cpu_percent", "packets_per_second")


def quick_run(name: str, folder: Path, seconds: float, *options: str) -> tuple[dict[str, Any], str]:
    """What a quick run of a benchmark writes, and what it prints."""
    output = folder / f"{name}.json"
    ran = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--quick", f"--output={output}", *options],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(output.read_text()), ran.stdout


def check(
    found: dict[str, Any], figures: set[str], goals: set[str], *, may_be_zero: frozenset[str] = frozenset()
) -> None:
    """Every figure is there, and the goals are about these."""
    assert found["passes"].keys() == figures
    assert all(found[name] > 0 for name in figures - may_be_zero)
    assert {goal["figure"] for goal in found["goals"]} == goals


def test_a_quick_run_measures_every_contender_that_needs_no_installation(tmp_path: Path) -> None:
    found, printed = quick_run("read", tmp_path, 240)
    assert {name for name, value in found.items() if isinstance(value, float)} == FIGURES
    assert all(found[name] > 0 for name in FIGURES)
    assert set(found["sweep"]) == {"1mb_1", "small_1", "1mb_16", "small_16"}
    assert {goal["of"] for goal in found["goals"]}.isdisjoint({"ray_1mb", "ray_small"})
    assert "local_1mb" in printed


def test_a_quick_run_saves_and_restores_in_every_way(tmp_path: Path) -> None:
    found, _ = quick_run("storage", tmp_path, 240, f"--local={ROOT / 'build'}")
    names = ("save", "restore", "file_write", "file_read", "pyignite_put", "pyignite_get")
    figures = {"local_save", "local_restore", *names, *(f"{name}_backup" for name in names)}
    assert {name for name, value in found.items() if isinstance(value, float)} == figures
    assert all(found[name] > 0 for name in figures)
    assert {goal["figure"] for goal in found["goals"]} == {"save", "restore", "save_backup", "restore_backup"}
    assert found["memory_bytes"].keys() == {name for name in figures if not name.startswith("pyignite")}


def test_a_quick_run_starts_kills_and_counts_packets(tmp_path: Path) -> None:
    require_namespaces("unshare")
    found, printed = quick_run("recovery", tmp_path, 360)
    assert found["passes"].keys() == RECOVERY_FIGURES
    for figure in RECOVERY_FIGURES:
        name, _, size = figure.partition(" ")
        value = found[name][size] if size else found[name]
        assert isinstance(value, float), figure
        assert value > 0 or name in NOISY, figure
    assert {goal["figure"] for goal in found["goals"]} == {
        *("submit_to_step_seconds 2", "recover_worker_seconds", "recover_node_seconds")
    }
    assert found["phases"].keys() == {name for name in RECOVERY_FIGURES if "seconds" in name}
    assert max(len(line) for line in printed.splitlines() if "written to" not in line) <= 80


def test_a_quick_run_measures_an_application_beside_a_job(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    found, printed = quick_run("live", tmp_path, 480)
    check(found, LIVE_FIGURES, {"oltp_p99_training_ms", "put_to_step_p99_seconds", "refresh_1_percent_seconds"})
    assert found["windows"].keys() == {"idle", *LIVE_WORK}
    assert "oltp_p99_training_ms" in printed


def test_a_quick_run_trains_two_models_on_a_shared_node(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    found, printed = quick_run("shared_node", tmp_path, 360)
    for figure in ("shared_node_throughput_ratio", "shared_node_step_cost_ratio"):
        assert found[figure].keys() == {"dense", "convolution"}
        assert all(value > 0 for value in found[figure].values())
        assert f"{figure} convolution" in printed


def test_a_quick_run_predicts_by_sql(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    found, printed = quick_run("predict_sql", tmp_path, 240)
    assert found["rounds"].keys() == {f"sql_rows_per_second {queries}" for queries in (1, 4, 16)}
    assert all(found[name] > 0 for name in found["rounds"])
    assert "sql_rows_per_second 16" in printed


def test_a_quick_run_trains_by_hand_and_as_a_job(tmp_path: Path) -> None:
    pytest.importorskip("tf_keras")
    found, printed = quick_run("training", tmp_path, 360)
    check(found, TRAINING_FIGURES, {name for name in TRAINING_FIGURES if name.startswith(("job_epoch", "job_first"))})
    for suffix in ("_images", "_table"):
        assert len(found["losses"][f"by_hand{suffix}"]) == len(found["losses"][f"job{suffix}"]) == 2
    assert max(len(line) for line in printed.splitlines() if "written to" not in line) <= 80


def test_a_quick_run_predicts_in_bulk_and_online(tmp_path: Path) -> None:
    pytest.importorskip("keras")
    found, printed = quick_run("predict", tmp_path, 360)
    goals = {"batch_rows", "rollover_failed", "rollover_p99_ms"}
    check(found, PREDICT_FIGURES, goals, may_be_zero=frozenset({"rollover_failed"}))
    assert found["rollover_failed"] == 0
    assert max(len(line) for line in printed.splitlines() if "written to" not in line) <= 80
