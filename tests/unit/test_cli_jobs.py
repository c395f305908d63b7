"""The commands about jobs and nodes against a node API on a real socket: what they print, where, and end with."""

import json
import re
import signal
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from node_api_server import NodeApiServer, running_job
from program import LIMIT, error_of, on_terminal, start

import tensorflow_ignite as tfi
from tensorflow_ignite import groups
from tensorflow_ignite.cli import drain
from tensorflow_ignite.errors import RequestTimeoutError
from tensorflow_ignite.jobs import checks
from tensorflow_ignite.net import server_warnings
from tensorflow_ignite.spec import JobSpec
from tensorflow_ignite.v1 import job_pb2


def finish(node: NodeApiServer, code: int = 0):
    """What makes a submitted job print a line and end."""

    def act(job) -> None:
        state = job_pb2.JOB_STATE_FAILED if code else job_pb2.JOB_STATE_SUCCEEDED
        node.state.log(job.id, b"hello\n")
        node.state.update(job.id, state=state, outcome=state, exit_code=code)

    node.state.on_submit = act


def test_options_of_a_job_reach_the_cluster_and_everything_after_the_code_the_script(cli, node, script) -> None:
    (script.parent / "pkg").mkdir()
    (script.parent / "pkg" / "fit.py").write_text("")
    options = (
        "--strategy parameter-server --set strategy.servers=2 --env A=1=2 --env B= --env ps:A=3 --name mine --verbose "
        "--set restart.max_crashes=0 --set restart.max_restarts=7 --set restart.on_join=ignore --read-rate 50000rows "
        "--set restart.allow_data_loss=true --set workers.minimum=2 --set workers.nodes.rack=a --priority -5 "
        "--set timeouts.wait=1m --set timeouts.start=90 --set timeouts.stop_grace=0.5s --set access.caches=b,c "
        "--set access.allow_plaintext=true --checkpoint-directory ignite:///c --script pkg/fit.py --detach "
        "--set evaluator.cache=test --set rounds --set environment.python=/python"
    )
    args = ["-c", "x", "--epochs", "3", "--help", "--cache", "other", "--", "-f", "", "a b", "--detach"]
    code, out, err = cli("submit", "--cache", "images", *options.split(), script.parent, *args)
    assert (code, err) == (0, "")
    sent = node.state.jobs[out.strip()].spec
    assert JobSpec.from_proto(sent) == JobSpec(
        cache="images",
        code_digest=sent.code_digest,
        script="pkg/fit.py",
        args=tuple(args),
        name="mine",
        checkpoint_directory="ignite:///c",
        priority=-5,
        read_rate="50000rows",
        strategy=groups.Strategy("parameter-server", 2),
        workers=groups.Workers(minimum=2, nodes={"rack": "a"}),
        restart=groups.Restart(0, 7, on_join="ignore", allow_data_loss=True),
        timeouts=groups.Timeouts(start=90, stop_grace=0.5, wait=60),
        environment=groups.Environment(
            {"A": "1=2", "B": "", "ps:A": "3", "TF_CPP_MIN_LOG_LEVEL": "0"}, python="/python"
        ),
        access=groups.Access(("b", "c"), allow_plaintext=True),
        evaluator=groups.Evaluator("test"),
        rounds=groups.Rounds(),
    )


def test_rounds_are_shown_as_they_are_set(cli, node, script) -> None:
    rules = ["--set", "rounds.every=10m", "--set", "rounds.replay=0.5"]
    job = cli("submit", "--cache", "images", "--detach", *rules, script)[1].strip()
    rounds = node.state.jobs[job].spec.rounds
    assert (rounds.every.seconds, rounds.when_rows, rounds.replay) == (600, 0, 0.5)
    described = cli("describe", job)[1]
    assert "rules:        rounds, rounds.every=600, rounds.replay=0.5\n" in described
    assert "rounds: none; they begin when the script calls tfi.train.rounds()\n" in described


def test_submit_waits_prints_the_output_and_ends_with_the_jobs_code(cli, node, script) -> None:
    finish(node)
    code, out, err = cli("submit", "--cache", "images", script)
    assert (code, out) == (0, "[worker 0] hello\n")
    assert "job 0001abcd submitted" in err
    assert "job 0001abcd succeeded after" in err


@pytest.mark.parametrize(("reported", "shown"), [(3, 3), (-9, 137), (256, 1), (0, 1)])
def test_a_job_that_fails_gives_its_code(cli, node, script, reported, shown) -> None:
    end = {"state": job_pb2.JOB_STATE_FAILED, "exit_code": reported, "cause": "worker 1 on node a1b2 (ValueError: x)"}
    node.state.on_submit = lambda job: node.state.update(job.id, **end)
    code, out, err = cli("submit", "--cache", "images", script)
    assert (code, out) == (shown, "")
    assert f"error: job 0001abcd failed (exit code {shown}): worker 1 on node a1b2 (ValueError: x)\nSee: " in err
    assert "tensorflow-ignite describe 0001abcd" in err


def test_submit_gives_json_for_programs(cli, node, script) -> None:
    code, out, _ = cli("submit", "--json", "--detach", "--cache", "images", script)
    assert (code, json.loads(out)["state"]) == (0, "pending")
    finish(node, 3)
    code, out, err = cli("submit", "--json", "--cache", "images", script)
    assert (code, json.loads(out)["exit_code"]) == (3, 3)
    assert "[worker 0] hello" in err


def test_ps_filters_and_says_when_there_are_more(cli, node, monkeypatch) -> None:
    node.state.jobs.update(
        {
            f"job0{i}": job_pb2.Job(
                id=f"job0{i}", state=i % 2 + 1, spec=job_pb2.JobSpec(strategy=job_pb2.Strategy(kind=1))
            )
            for i in range(5)
        }
    )
    code, out, err = cli("ps", "--limit", "2")
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == "only the newest 2 jobs; for more: --limit 20\n"
    code, out, err = cli("ps", "--state", "reserving")
    assert (code, len(out.splitlines()), err) == (0, 3, "")
    assert cli("ps", "--state", "failed")[:2] == (0, "no such jobs; all: tensorflow-ignite ps\n")
    monkeypatch.setattr(checks, "MAX_JOBS", 4)
    assert cli("ps", "--limit", "2")[2] == "only the newest 2 jobs; for more: --limit 4\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--limit", "1000000"], "limit 1000000 is not a possible number. A list has from 1 to 100,000 jobs."),
        (["--state", "done"], "state 'done' does not exist. It is one of pending, reserving"),
        (["--since", "yesterday"], "--since yesterday is not a time. It is an age in seconds, minutes, hours or days"),
    ],
)
def test_impossible_filters_of_ps_are_refused(cli, node, options, reason) -> None:
    code, out, err = cli("ps", *options)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.split())


def test_ps_lists_the_jobs(cli, node) -> None:
    assert cli("ps")[:2] == (0, "no jobs; submit one: tensorflow-ignite submit --cache NAME train.py\n")
    node.state.add(running_job("aaaa1111"))
    node.state.add(running_job("bbbb2222", state=job_pb2.JOB_STATE_ENDING, outcome=job_pb2.JOB_STATE_FAILED))
    code, out, err = cli("ps")
    assert (code, err) == (0, "")
    head, newest, oldest = out.splitlines()
    assert head.split() == ["ID", "NAME", "KIND", "CACHE", "STATE", "ATTEMPT", "PROGRESS", "AGE"]
    assert newest.startswith("bbbb2222")
    assert "ending (failed)" in newest
    assert re.fullmatch(
        r"aaaa1111 +digits +multi-worker-mirrored +images +running +1 +step 10/40 loss=0\.25 +\ds", oldest
    )
    assert "\x1b" not in out


def test_ps_shows_the_positions_of_waiting_jobs_and_their_reasons(cli, node) -> None:
    reason = "a place in the queue (position 2): room on node bbbbbbbb (4 of 4 tasks, 1 more needed)"
    waits = {"state": job_pb2.JOB_STATE_PENDING, "attempts": [], "queue_position": 2, "waiting_for": reason}
    node.state.add(running_job("aaaa1111", **waits))
    code, out, _ = cli("ps")
    assert code == 0
    assert "pending (queue 2)" in out
    assert f"job aaaa1111 is waiting for {reason}" in " ".join(out.split())


def failed_job():
    """A job with a crash, a lost node and a second crash, which ended it."""
    end = {
        "state": job_pb2.JOB_STATE_FAILED,
        "exit_code": 3,
        "cause": "worker 1 failed",
        "traceback": "Traceback:\nBoom",
    }
    job = running_job(crashes=2, **end)
    job.spec.restart.max_crashes = 1
    job.spec.workers.minimum = 2
    tasks = job.attempts[0].tasks
    tasks[1].status.state = job_pb2.TASK_STATE_FAILED
    tasks[1].status.exit_code = 3
    tasks[1].status.error = "ValueError: bad"
    tasks[1].status.traceback = "Traceback:\nBoom"
    tasks[0].incarnation = 1
    begun = datetime(2026, 3, 1, 12, 0, 0)
    causes = [
        (job_pb2.CAUSE_KIND_CRASH, "Boom in worker 1"),
        (job_pb2.CAUSE_KIND_NODE_LEFT, "node a1b2 left"),
        (job_pb2.CAUSE_KIND_CRASH, "again"),
    ]
    first = job.attempts.pop()
    for number, (kind, cause) in enumerate(causes, 1):
        job.attempts.add(
            number=number,
            tasks=first.tasks if number == 3 else [first.tasks[0]],
            cause_kind=kind,
            cause=cause,
            last_step=1000 * number,
            resumed_from_step=1000 * (number - 1),
            started_at=begun,
            ending_at=begun + timedelta(seconds=65),
        )
    for number in range(12):
        at = begun + timedelta(seconds=number)
        text = f"event {number}"
        job.events.add(number=number + 1, attempt=1, state=job_pb2.JOB_STATE_RESTARTING, text=text, at=at)
    return job


def test_describe_shows_everything_about_a_job(cli, node) -> None:
    node.state.add(failed_job())
    code, out, _ = cli("describe", "7f3a")
    assert code == 0
    for text in (
        "job 7f3a0000",
        "train.py --epochs 3",
        "SEED=7",
        "cause:        worker 1 failed",
        "exit code:    3",
        "crashes:      2 of 1 (max_crashes) since it was last healthy\n",
        "rules:        workers.minimum=2",
        "attempt 1 ended, crash: Boom in worker 1",
        "attempt 2 ended, node-left: node a1b2 left",
        "worker 1: ValueError: bad",
        "restarting  event 11",
        "events (and 2 before; all: tensorflow-ignite events 7f3a0000)",
        "traceback of the first failure (attempt 3, worker 1 on node 11b2c3d4):\n  Traceback:\n  Boom\n",
    ):
        assert text in out
    assert re.search(r"^  1 +crash +1 +to 1,000 +2026-03-01 ..:00:00 +1m 05s$", out, re.M)
    assert re.search(r"^  3 +crash +2 +resumed from 2,000, to 3,000 +2026-03-01 ..:00:00 +1m 05s$", out, re.M)
    assert "event 1\n" not in out
    assert re.search(
        r"worker 0 \(incarnation 1\) +01b2c3d4 +running +4000 +3 +1,234 +127\.0\.0\.1:5000 +- +step 10/40 loss=0\.25",
        out,
    )
    assert re.search(r"worker 1 +11b2c3d4 +failed +4001 +3 +1,234 +127\.0\.0\.1:5001 +3 ", out)


def test_describe_shows_how_fast_running_tasks_train(cli, node) -> None:
    job = running_job()
    status = job.attempts[0].tasks[1].status
    status.memory_bytes, status.device_memory_bytes = 1_500 << 20, 20 << 30
    status.progress.total_steps = 400
    status.progress.metrics["loss"] = 0.12344
    status.progress.throughput.steps_per_second = 2
    status.progress.throughput.examples_per_second = 12_345.6
    status.progress.throughput.input_wait = 0.456
    node.state.add(job)
    code, out, _ = cli("describe", "7f3a")
    assert code == 0
    assert re.search(r"^  TASK +STEP +LOSS +STEPS/S +ROWS/S +INPUT WAIT +MEMORY +GPU MEMORY +LEFT$", out, re.M)
    assert re.search(r"^  worker 0 +10 +0\.25 +- +- +- +- +- +-$", out, re.M)
    assert re.search(r"^  worker 1 +11 +0\.1234 +2 +12,346 +46% +1\.5 GiB +20\.0 GiB +3m 14s$", out, re.M)


def test_describe_shows_the_tasks_that_a_job_has_beside_those_of_its_kind(cli, node) -> None:
    job = running_job()
    job.spec.MergeFrom(
        job_pb2.JobSpec(
            strategy=job_pb2.Strategy(kind=job_pb2.JOB_KIND_CUSTOM, chief=True, roles={"actor": 3}),
            workers=job_pb2.Workers(per_node=2, gpus=1, nodes={"rack": "a"}),
            environment=job_pb2.Environment(variables={"actor:A": "1"}),
            access=job_pb2.Access(directories=["ignite:///models/digits"]),
            evaluator=job_pb2.Evaluator(script="evaluate.py", cache="test"),
        )
    )
    node.state.add(job)
    out = " ".join(cli("describe", "7f3a")[1].split())
    assert "tasks: 2 workers a node, 1 GPU for each worker, workers on nodes with rack=a, worker 0 is the chief" in out
    assert "3 actor, an evaluator runs evaluate.py on cache test" in out
    assert "env: SEED=7 actor:A=1" in out
    assert "directories: ignite:///models/digits" in out


def test_describe_shows_until_when_a_finished_job_is_kept_and_what_another_one_waits_for(cli, node) -> None:
    job = running_job(state=job_pb2.JOB_STATE_SUCCEEDED)
    node.state.add(job)
    assert "kept until:   removed by hand\n" in cli("describe", "7f3a")[1]
    job.kept_until.FromDatetime(datetime(2026, 3, 8, 12, tzinfo=timezone.utc))
    assert "kept until:   2026-03-08 " in cli("describe", "7f3a")[1]
    assert json.loads(cli("ps", "--json")[1])[0]["kept_until"] == "2026-03-08T12:00:00+00:00"
    job = running_job(state=job_pb2.JOB_STATE_RESTARTING, crashes=2, waiting_for="2 workers; 1 node has partitions")
    job.not_before.FromDatetime(datetime.now(timezone.utc) + timedelta(hours=3, minutes=30))
    node.state.add(job)
    _, out, _ = cli("describe", "7f3a")
    assert "waiting for:  2 workers; 1 node has partitions\n" in out
    assert re.search(r"next attempt: +not before ..:..:.. \(in 3h (30|29)m\)", out)
    assert "crashes:      2 of 3 (max_crashes) since it was last healthy: 1 more is followed by a restart" in out
    assert re.search(r"^  1 +restarting +2 +to 11 ", out, re.M)
    assert "traceback" not in out
    assert "kept until" not in out


def test_describe_shows_the_rounds_of_a_continuous_job(cli, node) -> None:
    job = running_job()
    job.spec.rounds.when_rows = 100
    progress = job.attempts[-1].tasks[0].status.progress
    first = progress.rounds.add(number=1, changes=60_000)
    first.begun_at.FromDatetime(datetime(2026, 3, 8, 12, tzinfo=timezone.utc))
    first.finished_at.FromDatetime(datetime(2026, 3, 8, 12, 1, tzinfo=timezone.utc))
    first.publications.add(model="trips", measure=0.29, version=1)
    second = progress.rounds.add(number=2)
    second.begun_at.FromDatetime(datetime(2026, 3, 8, 12, 9, tzinfo=timezone.utc))
    second.publications.add(model="trips", measure=0.33, earlier_version=1, earlier_measure=0.29)
    progress.waiting_for = "100 changes (when_rows): there are 7"
    node.state.add(job)
    out = cli("describe", "7f3a")[1]
    assert re.search(r"  2026-03-0. ..:00:00  round 1: 60,000 rows; trips: published 1 \(0\.29\)\n", out)
    assert re.search(r"  2026-03-0. ..:09:00  round 2: changes and whole partitions;", out)
    assert "trips: kept 1 (0.33 is worse than 0.29) (trains)" in " ".join(out.split())
    assert "  the next one waits for 100 changes (when_rows): there are 7\n" in out
    shown = json.loads(cli("describe", "--json", "7f3a")[1])["attempts"][-1]["tasks"][0]["status"]["progress"]
    assert shown["rounds"][1]["publications"][0]["earlier_measure"] == 0.29
    assert shown["rounds"][1]["changes"] is None


def test_events_are_printed_oldest_first_also_after_the_end(cli, node) -> None:
    node.state.add(failed_job())
    code, out, err = cli("events", "7f3a")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 12
    assert re.fullmatch(r"2026-03-01 ..:00:00  attempt 1  restarting  event 0", lines[0])
    printed = [json.loads(line) for line in cli("events", "--json", "-f", "7f3a")[1].splitlines()]
    assert printed[11] == {
        "number": 12,
        "at": "2026-03-01T12:00:11+00:00",
        "attempt": 1,
        "state": "restarting",
        "text": "event 11",
    }


def test_events_are_followed_until_the_job_is_over_each_once(node) -> None:
    now = datetime.now(timezone.utc)
    begun = job_pb2.Event(number=1, attempt=1, at=now, state=job_pb2.JOB_STATE_RUNNING, text="every task runs")
    done = job_pb2.Event(number=2, attempt=1, at=now, state=job_pb2.JOB_STATE_SUCCEEDED, text="the script is done")
    node.state.add(running_job(events=[begun]))
    ran = start("events", "-f", "7f3a")
    assert ran.stdout is not None
    assert ran.stdout.readline().endswith("attempt 1  running     every task runs\n")
    node.state.update("7f3a0000", crashes=1)  # a change without an event
    node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED, events=[begun, done]))
    out, err = ran.communicate(timeout=LIMIT)
    assert (ran.returncode, err) == (0, "")
    assert out.count("\n") == 1
    assert out.endswith("succeeded   the script is done\n")


def test_an_unreadable_job_is_listed_with_the_reason_and_one_of_a_later_version_with_its_number(cli, node) -> None:
    node.state.add(job_pb2.Job(id="7f3a0000", state=job_pb2.JOB_STATE_UNREADABLE, cause="its 4 bytes are no job"))
    # As a node of a later version sends it: enums of proto3 are open.
    later = node.state.add(running_job("9b1c0000", state=1000))
    later.attempts[0].phase = 1000  # type: ignore[assignment]
    later.attempts[0].tasks[0].status.state = 1000  # type: ignore[assignment]
    code, out, err = cli("ps")
    assert (code, err) == (0, "")
    assert "job 7f3a0000: its 4 bytes are no job. Remove it: tensorflow-ignite rm --force 7f3a0000" in out
    assert re.search(r"^9b1c0000 .* unknown-1000 ", out, re.M)
    code, out, err = cli("describe", "9b1c")
    assert (code, err) == (0, "")
    assert "unknown-1000" in out


WARNING = (
    "only 1 of 3 nodes are here, without 10.79.0.2:10820, 10.79.0.3:10820. Jobs need a majority. Start those, or "
    "restart these: tensorflow-ignite doctor"
)


@pytest.mark.parametrize("command", [["ps", "--json"], ["nodes"], ["describe", "7f3a"]])
def test_what_a_node_warns_of_stands_once_on_standard_error(cli, node, command) -> None:
    plain = cli(*command)
    node.state.warning = WARNING
    code, out, err = cli(*command)
    assert (code, out) == plain[:2]
    assert err.count("warning:") == 1
    assert err.splitlines()[:2] == [
        "warning: only 1 of 3 nodes are here, without 10.79.0.2:10820, 10.79.0.3:10820.",
        "Jobs need a majority. Start those, or restart these: tensorflow-ignite doctor",
    ]


def test_the_library_logs_what_a_node_warns_of_once(node, caplog) -> None:
    server_warnings.report_to(server_warnings.log_warning)
    node.state.warning = WARNING
    for _ in range(2):
        with tfi.connect(node.address) as client:
            client.nodes()
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [WARNING]


def test_nodes_says_that_the_cluster_is_split_also_after_the_network_works_again(cli, node) -> None:
    with NodeApiServer() as other:
        other.state.nodes = [job_pb2.Node(id="x" * 36, address=other.address)]
        lost = job_pb2.LostNode(id="x" * 36, consistent_id="x", address=other.address)
        node.state.nodes = [job_pb2.Node(id="a" * 36, address=node.address, lost_nodes=[lost])]
        _, out, _ = cli("nodes")
        assert f"the cluster is split: here are 1 nodes, and {other.address} answers with 1 nodes" in out
        assert "Stop the nodes of one side, best of the smaller one, and start them again" in out
        _, out, err = cli("nodes", "--json")
        assert json.loads(out)[0]["lost_nodes"][0]["address"] == other.address
        assert "the cluster is split" in err
    assert "the cluster is split" not in cli("nodes")[1]


def test_nodes_are_listed_with_their_agents(cli, node) -> None:
    agent = job_pb2.AgentInfo(
        pid=42, python_version="3.11.2", tensorflow_version="2.21.0", warm_processes=1, warm_bytes=266 << 20
    )
    node.state.nodes = [
        job_pb2.Node(
            id="a" * 36,
            consistent_id="n1",
            order=1,
            address="h:10820",
            host_name="h",
            agent=agent,
            losses=[job_pb2.CacheLoss(cache="tensorflow-ignite-logs", partitions=[1, 5], is_of_service=True)],
            missing_nodes=[job_pb2.MissingNode(consistent_id="n4", host="10.0.0.4")],
            lost_nodes=[job_pb2.LostNode(id="c" * 36, consistent_id="n3", address="h:10822")],
            max_tasks=4,
            tasks=3,
            gpus=[job_pb2.Gpu(id="GPU-1"), job_pb2.Gpu(id="GPU-2")],
        ),
        job_pb2.Node(
            id="b" * 36,
            consistent_id="n2",
            order=2,
            is_outside_baseline=True,
            agent=job_pb2.AgentInfo(error="no python3"),
            quarantine=[job_pb2.UnprovenAttempt(job_id="7f3a0000", attempt=2, pids=[12, 13])],
            loops=[
                job_pb2.NodeLoop(name="node runner", error="OutOfMemoryError: heap", failures=3),
                job_pb2.NodeLoop(name="reconciler"),
            ],
        ),
    ]
    code, out, _ = cli("nodes")
    assert code == 0
    assert re.search(r"^aaaaaaaa +n1 +h +h:10820 +42 +3\.11\.2 +2\.21\.0 +3/4 +2 +1 \(266 MiB\) +-$", out, re.M)
    assert "node bbbbbbbb runs no tasks: no python3" in out
    assert "node bbbbbbbb is in quarantine: the end of attempt 2 of job 7f3a0000 is not proven (pids 12, 13)" in out
    assert "node bbbbbbbb: its loop 'node runner' has failed 3 times in succession" in out
    assert "OutOfMemoryError: heap" in out
    assert "node bbbbbbbb: its loop 'reconciler' is silent" in out
    assert "cache tensorflow-ignite-logs (output of unfinished jobs) has lost 2 partitions. Find damaged" in out
    assert "tensorflow-ignite accept-data-loss tensorflow-ignite-logs" in out
    assert "node cccccccc at h:10822 was lost: it was killed, or the network to it is cut" in out
    assert "node n4 at 10.0.0.4 of the baseline is missing. Start it" in out
    outside = "node bbbbbbbb is outside of the baseline, and gets no partitions: tensorflow-ignite baseline --add n2"
    assert outside in " ".join(out.split())
    first, second = json.loads(cli("nodes", "--json")[1])
    assert (first["order"], second["order"]) == (1, 2)
    assert (first["losses"][0]["partitions"], first["agent"]["warm_bytes"]) == ([1, 5], 266 << 20)


def test_json_parses_and_holds_what_the_tables_leave_out(cli, node) -> None:
    job = running_job()
    job.attempts[0].tasks[0].status.progress.metrics["loss"] = float("inf")
    node.state.add(job)
    listed = json.loads(cli("ps", "--json")[1])
    described = json.loads(cli("describe", "--json", "7f3a")[1])
    assert listed == [described]
    assert described["attempts"][0]["tasks"][0]["partitions"] == [1, 2, 3]
    assert described["attempts"][0]["tasks"][0]["status"]["progress"]["metrics"]["loss"] == "Infinity"
    assert datetime.fromisoformat(described["created_at"])


def test_logs_are_printed_from_the_first_line_also_after_the_end(cli, node) -> None:
    node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED))
    node.state.log("7f3a0000", b"one\nno end")
    node.state.log("7f3a0000", b"\xff two\n", index=1, attempt=2, dropped_bytes=2000)
    shown = (
        "[worker 0] one\n"
        "[worker 1 attempt 2] (here 2,000 bytes of output were dropped or lost)\n"
        "[worker 1 attempt 2] � two\n"
        "[worker 0] no end\n"
    )
    assert cli("logs", "7f3a") == (0, shown, "")
    assert cli("logs", "--task", "worker:0", "--no-prefix", "7f3a")[1] == "one\nno end\n"
    assert cli("logs", "--attempt", "2", "--task", "worker", "7f3a")[1].count("two") == 1
    lines = [json.loads(line) for line in cli("logs", "--json", "-f", "7f3a")[1].splitlines()]
    task = {"role": "worker", "index": 0, "role_name": "", "role_index": 0}
    assert lines[0] == {"attempt": 1, **task, "text": "one", "dropped_bytes": 0, "incarnation": 0}
    assert len(lines) == 3


def test_the_end_of_a_reader_is_no_error(node) -> None:
    node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED))
    for _ in range(30):
        node.state.log("7f3a0000", b"x" * 99 + b"\n" + b"y\n" * 10_000)
    ran = start("logs", "7f3a")
    assert ran.stdout is not None
    assert ran.stderr is not None
    assert ran.stdout.readline() == "[worker 0] " + "x" * 99 + "\n"
    ran.stdout.close()
    assert ran.stderr.read() == ""
    assert ran.wait(LIMIT) == 1
    ran.stderr.close()


def test_attach_ends_with_the_jobs_code(cli, node) -> None:
    job = node.state.add(running_job(state=job_pb2.JOB_STATE_FAILED, exit_code=7, cause="worker 0 failed"))
    node.state.log("7f3a0000", b"one\n")
    code, out, err = cli("attach", "7f3a")
    assert (code, out) == (7, "[worker 0] one\n")
    assert "error: job 7f3a0000 failed (exit code 7): worker 0 failed" in err
    code, out, err = cli("attach", "--json", "7f3a")
    assert (code, json.loads(out)["state"]) == (7, "failed")
    assert "[worker 0] one" in err
    node.state.update(job.id, state=job_pb2.JOB_STATE_STOPPED, exit_code=130, cause="stopped by request")
    code, _, err = cli("attach", "7f3a")
    assert code == 130
    assert "was stopped (exit code 130): stopped by request" in err


def test_attach_prints_after_a_lost_connection_that_the_job_may_still_run(node) -> None:
    node.state.add(running_job())
    node.state.log("7f3a0000", b"hello\n")
    ran = start("attach", "7f3a")
    assert ran.stdout is not None
    assert ran.stdout.readline() == "[worker 0] hello\n"
    node.stop()
    _, err = ran.communicate(timeout=LIMIT)
    assert ran.returncode == 1
    assert "error: lost sight of job 7f3a0000, which may go on: no node answers at" in err
    assert err.endswith("Follow it again: tensorflow-ignite attach 7f3a0000\n")


@pytest.mark.parametrize("command", [["attach", "7f3a"], ["submit", "--cache", "images", "{script}"]])
def test_ctrl_c_detaches_and_prints_it(node, script, command) -> None:
    node.state.add(running_job())
    node.state.log("7f3a0000", b"hello\n")
    node.state.on_submit = lambda job: node.state.log(job.id, b"hello\n")
    ran = start(*(arg.format(script=script) for arg in command))
    assert ran.stdout is not None
    assert ran.stdout.readline() == "[worker 0] hello\n"
    ran.send_signal(signal.SIGINT)
    _, err = ran.communicate(timeout=LIMIT)
    assert ran.returncode == 130
    job_id = list(node.state.jobs)[-1]
    assert f"detached; job {job_id} goes on. Follow it again: tensorflow-ignite attach {job_id}" in err
    assert "Traceback" not in err
    assert node.state.jobs[job_id].stop_requested is False
    assert node.wait_for_streams(0, LIMIT)


@pytest.mark.parametrize("command", ["logs", "events"])
def test_ctrl_c_ends_logs_and_events_quietly(node, command) -> None:
    job = running_job()
    job.events.add(number=1, text="hello")
    node.state.add(job)
    node.state.log("7f3a0000", b"hello\n")
    ran = start(command, "-f", "7f3a")
    assert ran.stdout is not None
    assert ran.stdout.readline().endswith("hello\n")
    ran.send_signal(signal.SIGINT)
    assert ran.communicate(timeout=LIMIT)[1] == ""
    assert ran.returncode == 130


def test_a_node_is_drained_until_that_is_undone(cli, node) -> None:
    node.state.nodes = [job_pb2.Node(id="b" * 36, consistent_id="n2", address="h:10821")]
    assert cli("drain", "n2") == (0, "node bbbbbbbb at h:10821 is drained: its tasks end, and it gets no others\n", "")
    assert "node bbbbbbbb gets no tasks: it is drained (tensorflow-ignite drain --undo)" in cli("nodes")[1]
    assert cli("drain", "n2", "--undo") == (0, "node bbbbbbbb at h:10821 gets tasks again\n", "")
    assert "drained" not in cli("nodes")[1]
    node.state.nodes[0].availability = job_pb2.NODE_AVAILABILITY_STOPPING
    assert "node bbbbbbbb gets no tasks: it is being stopped" in cli("nodes")[1]
    assert json.loads(cli("drain", "n2", "--json")[1])["availability"] == "drained"


def test_the_baseline_is_shown_and_changed(cli, node) -> None:
    node.state.baseline = job_pb2.BaselineState(
        nodes=[
            job_pb2.BaselineEntry(consistent_id="n1", address="h:10820", is_member=True, is_online=True),
            job_pb2.BaselineEntry(consistent_id="n2", address="10.0.0.2", is_member=True),
            job_pb2.BaselineEntry(consistent_id="n3", is_online=True),
        ]
    )
    code, out, _ = cli("baseline")
    assert code == 0
    assert out.splitlines() == [
        "NAME  STATE    ADDRESS",
        "n1    online   h:10820",
        "n2    offline  10.0.0.2",
        "n3    outside  -",
        "node n3 gets no partitions: tensorflow-ignite baseline --add NODE",
    ]
    shown = json.loads(cli("baseline", "--json")[1])
    assert shown["nodes"][1] == {
        "consistent_id": "n2",
        "address": "10.0.0.2",
        "is_member": True,
        "is_online": False,
    }
    assert shown["is_automatic"] is False
    changed = cli("baseline", "--add", "n3", "--remove", "n2")
    assert changed[:2] == (0, "NAME  STATE   ADDRESS\nn1    online  h:10820\nn3    online  -\n")
    code, _, err = cli("baseline", "--remove", "n1", "--add-online")
    assert (code, err) == (1, "error: Node n1 is online.\n")
    code, _, err = cli("baseline", "--force")
    assert code == 2
    assert "--force belongs to a change" in err
    node.state.baseline.is_automatic = True
    assert cli("baseline")[1].endswith("Ignite adjusts the baseline itself when nodes join and leave\n")


def test_a_drained_node_is_waited_for_until_it_is_empty_or_the_time_is_over(monkeypatch) -> None:
    here = SimpleNamespace(id="n", tasks=2)
    processes = [SimpleNamespace(node_id="n"), SimpleNamespace(node_id="other")]
    models = SimpleNamespace(deployments=lambda: [SimpleNamespace(processes=processes)])
    client = SimpleNamespace(nodes=lambda: [here, SimpleNamespace(id="other", tasks=5)], models=models)

    def sleep(_seconds: float) -> None:
        if here.tasks:
            here.tasks -= 1
        else:
            del processes[0]

    monkeypatch.setattr(drain.time, "sleep", sleep)
    # The exit code is 1, and not that of a wrong command line.
    with pytest.raises(RequestTimeoutError, match=r"still has 2 tasks and 1 model processes after 0 s \(--wait\)"):
        drain._await_empty(client, "n", 0)
    drain._await_empty(client, "n", LIMIT)
    assert (here.tasks, len(processes)) == (0, 1)


def test_a_quorum_is_accepted_once(cli, node) -> None:
    here, *gone = (
        job_pb2.Node(id=letter * 36, consistent_id=letter, order=order, address=f"{letter}:10820")
        for order, letter in enumerate("abc")
    )
    node.state.nodes = [here]
    node.state.add(running_job(members=[here, *reversed(gone)]))
    assert cli("quorum", "accept", "7f3a") == (
        0,
        "accepted: job 7f3a0000 goes on without 2 nodes (bbbbbbbb at b:10820, cccccccc at c:10820)\n",
        "",
    )
    assert cli("quorum", "accept", "7f3a") == (0, "all nodes of job 7f3a0000 are here; nothing to accept\n", "")
    node.state.add(running_job("8f3a0000", members=[here, *gone]))
    answer = json.loads(cli("quorum", "accept", "--json", "8f3a")[1])
    assert (answer["job"], [missing["address"] for missing in answer["missing"]]) == (
        "8f3a0000",
        ["b:10820", "c:10820"],
    )


def test_a_data_loss_is_accepted_once(cli, node) -> None:
    node.state.lost = {"images": (3, 7)}
    assert cli("accept-data-loss", "images") == (
        0,
        "accepted: cache images has lost 2 partitions; its remaining rows are the whole cache from now on\n",
        "",
    )
    assert cli("accept-data-loss", "images") == (0, "cache images has lost nothing\n", "")
    node.state.lost = {"images": (3,)}
    assert json.loads(cli("accept-data-loss", "--json", "images")[1]) == {"cache": "images", "partitions": [3]}
    assert "there is no cache nope" in error_of(cli("accept-data-loss", "nope"))


def test_stop_waits_until_no_task_runs_or_its_time_is_over(cli, node) -> None:
    node.state.add(running_job())
    assert cli("stop", "7f3a") == (0, "job 7f3a0000 is stopped; nothing of it runs\n", "")
    node.state.add(running_job("8888aaaa"))
    assert json.loads(cli("stop", "--json", "8888")[1])["state"] == "stopped"
    node.state.stops = False
    node.state.add(running_job("9999aaaa", waiting_for="node a1b2 to end worker 0"))
    err = error_of(cli("stop", "--timeout", "0.3", "9999"))
    assert "not over after 0.3 s: it is running, waiting for node a1b2 to end worker 0" in err


def test_stop_by_force_names_what_may_still_run(cli, node) -> None:
    job = running_job()
    job.attempts[-1].unproven_node_ids.append("b" * 36)
    node.state.add(job)
    code, out, _ = cli("stop", "--force", "7f3a")
    assert (code, out) == (0, "job 7f3a0000 is over (stopped): stopped by request\n")
    assert node.state.jobs["7f3a0000"].force_stop_requested
    assert re.search(
        r"not proven: +that all has ended on node bbbbbbbb; see: tensorflow-ignite nodes", cli("describe", "7f3a")[1]
    )


def test_rm_removes_jobs_that_are_over_and_no_other(cli, node) -> None:
    for job_id in ("7f3a0000", "8888aaaa"):
        node.state.add(running_job(job_id, state=job_pb2.JOB_STATE_SUCCEEDED))
    node.state.add(running_job("9999bbbb"))
    code, out, err = cli("rm", "7f3a", "9999")
    assert (code, out) == (1, "job 7f3a0000 is removed, with all that it had left\n")
    assert "Job 9999bbbb is not removed: it is running" in err
    err = error_of(cli("rm", "8888", "nope"))
    assert "There is no job 'nope'" in err
    assert list(node.state.jobs) == ["8888aaaa", "9999bbbb"]


def test_a_terminal_shows_progress_and_colours_and_is_left_clean(node) -> None:
    job = running_job()
    for task in job.attempts[0].tasks:
        task.status.progress.throughput.steps_per_second = 2
        task.status.memory_bytes = 700 << 20
    node.state.add(job)
    node.state.log("7f3a0000", b"hello [bold] \x1b[31mred\x1b[0m\n")

    def end(shown: str) -> None:
        if "step 10/40" in shown and "hello" in shown and not node.state.jobs["7f3a0000"].HasField("finished_at"):
            node.state.update("7f3a0000", state=job_pb2.JOB_STATE_SUCCEEDED)

    shown = on_terminal("attach", "7f3a", env={"TERM": "xterm", "NO_COLOR": ""}, on_output=end)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "[worker 0] hello [bold] red" in plain
    assert "running, attempt 1: 2 workers" in plain
    # The speed of each task, and the time left for all steps.
    assert re.search(r"TASK +STEP +LOSS +STEPS/S", plain)
    assert re.search(r"worker 1 +11 +0\.25 +2 +- +- +700 MiB +- +14s", plain)
    assert "15s left" in plain
    assert "\x1b[32m[worker 0]\x1b[0m" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is shown again
    assert plain.rstrip().endswith("s")
    assert "succeeded after" in plain


@pytest.mark.parametrize("command", [["ps"], ["describe", "7f3a"]])
def test_names_of_others_cannot_control_the_terminal(cli, node, command) -> None:
    job = running_job()
    job.spec.name, job.spec.cache, job.owner = "a\x1b]0;b\x07", "c\x9bd", "e\u202ef"
    node.state.add(job)
    out = cli(*command)[1]
    assert r"a\x1b]0;b\x07" in out
    assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}
