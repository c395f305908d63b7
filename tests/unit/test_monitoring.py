"""The files of examples/monitoring: each metric and label that an alert rule or the dashboard names exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/monitoring"
#: Labels that Prometheus and histograms add.
ADDED = {"instance", "job", "le"}
#: A metric that Prometheus makes of each scrape.
UP = "up"

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def documented() -> dict[str, set[str]]:
    """The labels of each metric, by each of its names; NodeMetricsTest compares the table with the code."""
    page = (ROOT / "docs/operations.md").read_text()
    table = page.partition("<!-- metrics: made of Metric.java -->\n")[2].partition("<!-- metrics end -->")[0]
    found = {}
    for name, labels, value in re.findall(r"(?m)^\| `(\w+)` \| (.*?) \| (.*) \|$", table):
        for suffix in ("_bucket", "_count", "_sum") if value.startswith("Histogram: ") else ("",):
            found[f"tensorflow_ignite_{name}{suffix}"] = set(re.findall(r"\w+", labels))
    assert len(found) > 20
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return list(group["rules"])


def panels() -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / "dashboard.json").read_text())["panels"])


def queries() -> list[str]:
    """The expressions of the dashboard, as Grafana sends them."""
    return [
        target["expr"].replace("$__rate_interval", "5m") for panel in panels() for target in panel.get("targets", ())
    ]


def test_rules_and_dashboard_name_metrics_and_labels_that_exist() -> None:
    known = documented()
    for expression in [*(rule["expr"] for rule in rules()), *queries()]:
        named = re.findall(rf"\btensorflow_ignite_\w+|\b{UP}\b", expression)
        assert named, expression
        assert set(named) <= {*known, UP}, expression
        used = re.findall(r"(\w+)\s*(?:!=|=~|=)\s*\"", expression)
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            used += re.findall(r"\w+", grouped)
        assert set(used) <= set.union(ADDED, *(known.get(name, set()) for name in named)), expression


def test_each_metric_is_on_the_dashboard_or_in_a_rule() -> None:
    text = " ".join([*(rule["expr"] for rule in rules()), *queries()])
    used = {re.sub("_(bucket|count|sum)$", "", name) for name in documented() if re.search(rf"\b{name}\b", text)}
    known = {re.sub("_(bucket|count|sum)$", "", name) for name in documented()}
    # The limit of this node's labels, and a number that the states of processes explain.
    assert known - used == {"tensorflow_ignite_jobs_left_out", "tensorflow_ignite_model_restarts"}


def test_each_rule_has_a_test_and_texts_with_labels_of_its_result() -> None:
    tested = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())
    names = {case["alertname"] for test in tested["tests"] for case in test["alert_rule_test"] if "exp_alerts" in case}
    assert names == {rule["alert"] for rule in rules()}
    for rule in rules():
        texts = " ".join(rule["annotations"].values())
        labels = set(re.findall(r"\$labels\.(\w+)", texts))
        grouped = re.search(r" by \(([^)]*)\)", rule["expr"])
        assert labels <= (set(grouped[1].split(", ")) if grouped else {"instance"})


def test_the_dashboard_has_the_form_that_grafana_imports() -> None:
    board = json.loads((FOLDER / "dashboard.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(board)
    assert [variable["type"] for variable in board["templating"]["list"]] == ["datasource"]
    assert len({panel["id"] for panel in panels()}) == len(panels())
    for panel in panels():
        assert panel["type"] in ("row", "timeseries", "stat")
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["targets"]
            assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
    for one, other in combinations([panel["gridPos"] for panel in panels()], 2):
        apart = [one[a] + one[b] <= other[a] or other[a] + other[b] <= one[a] for a, b in (("x", "w"), ("y", "h"))]
        assert any(apart), (one, other)


def test_the_scrape_configuration_loads_the_rules_which_name_its_job() -> None:
    configuration = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert configuration["rule_files"] == ["alerts.yml"]
    (scrape,) = configuration["scrape_configs"]
    assert scrape.get("metrics_path", "/metrics") == "/metrics"
    for rule in rules():
        assert set(re.findall(r'\bup\{job="([^"]+)"\}', rule["expr"])) <= {scrape["job_name"]}


@needs_promtool
def test_promtool_accepts_the_files_and_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    recorded = [{"record": f"q{number}", "expr": query} for number, query in enumerate(queries())]
    board = tmp_path / "board.yml"
    board.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": recorded}]}))
    for command in (
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "alerts.yml", str(board)),
        ("test", "rules", "alerts_test.yml"),
    ):
        ran = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
