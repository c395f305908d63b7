"""The client against a node API on a real socket."""

import dataclasses
import os
import pickle
import signal
import socket
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from node_api_server import NodeApiServer, running_job

import tensorflow_ignite as tfi
from tensorflow_ignite import errors, groups
from tensorflow_ignite.jobs.client import connect
from tensorflow_ignite.net import rpc
from tensorflow_ignite.net.addresses import parse_addresses
from tensorflow_ignite.spec import JobSpec
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import job_pb2

ROOT = Path(__file__).resolve().parents[2]
LIMIT = patiently(20)  # seconds; what takes longer hangs


@pytest.fixture
def node():
    with NodeApiServer() as server:
        yield server


@pytest.fixture
def client(node):
    with connect(node.address) as connected:
        yield connected


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("print('x')\n")
    return path


@pytest.fixture
def nobody():
    """An address at which nobody listens, and nobody will: the port stays bound."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def silent():
    """An address that accepts connections and never says a word, as a frozen process does."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", ("a:1",)),
        ("a", ("a:10820",)),
        ("a:1, b ,[::1]:3", ("a:1", "b:10820", "[::1]:3")),
        ("::1", ("[::1]:10820",)),
        ("[::1]", ("[::1]:10820",)),
    ],
)
def test_addresses_are_read(text, addresses) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize(
    "text", ["", "a:", "a:0", "a:65536", "a:b", ":1", "a,,b", "a b:1", "http://a:1", "a:+1", "a:²"]
)
def test_an_invalid_address_is_refused(text) -> None:
    with pytest.raises(errors.InvalidRequestError, match="is not host:port"):
        parse_addresses(text)


def test_no_node_at_the_address_is_an_error(nobody) -> None:
    with pytest.raises(errors.ConnectionFailedError, match=rf"{nobody} \(connection refused\).*tensorflow-ignite node"):
        connect(nobody)


def test_an_address_that_never_answers_is_given_up(silent) -> None:
    with pytest.raises(errors.ConnectionFailedError, match=rf"{silent} \(no answer within [01]\.\d s\)"):
        connect(silent, timeout=1)


def test_something_else_that_speaks_grpc_is_not_taken_for_a_node_but_a_node_of_an_inactive_cluster_is(node) -> None:
    node.fail_next("ListNodes", grpc.StatusCode.UNIMPLEMENTED, "unknown service")
    with pytest.raises(errors.ConnectionFailedError, match="does not serve the node API"):
        connect(node.address)
    node.fail_next("ListNodes", grpc.StatusCode.FAILED_PRECONDITION, "not active [code=CLUSTER_NOT_ACTIVE]")
    with connect(node.address) as client:
        node.fail_next("ListJobs", grpc.StatusCode.UNAVAILABLE, "not active [code=CLUSTER_NOT_ACTIVE]")
        with pytest.raises(errors.ClusterNotActiveError, match=r"not active$"):
            client.jobs()
        # A status without a code keeps its text.
        node.fail_next("ListJobs", grpc.StatusCode.INTERNAL, "NullPointerException")
        with pytest.raises(errors.InternalError, match="NullPointerException"):
            client.jobs()


def test_the_first_address_that_answers_is_used(nobody, silent, node) -> None:
    with connect(f"{nobody},{silent},{node.address}", timeout=10) as client:
        assert client.address == node.address
        assert client.jobs() == []


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_time(timeout) -> None:
    with pytest.raises(errors.InvalidRequestError, match="is not a valid duration"):
        connect("localhost", timeout=timeout)


def test_a_closed_client_raises(node) -> None:
    with connect(node.address) as client:
        pass
    client.close()
    with pytest.raises(errors.TensorFlowIgniteError, match="the client is closed"):
        client.jobs()


def test_a_job_carries_all_its_options(client, node, tmp_path) -> None:
    (tmp_path / "fit.py").write_text("")
    args = ["-c", "x", "--epochs", "3", "--help", "", "--", "a b"]
    options = {
        "cache": "images",
        "script": "fit.py",
        "name": "mine",
        "checkpoint_directory": "ignite:///c",
        "priority": 5,
        "read_rate": "200MB",
        "strategy": groups.Strategy("parameter-server", 2),
        "workers": tfi.Workers(minimum=2, nodes={"rack": "a"}),
        "restart": tfi.Restart(max_crashes=0, on_join="at-checkpoint", allow_data_loss=True),
        "timeouts": tfi.Timeouts(start=2.5, stop_grace=0, wait=60),
        "environment": tfi.Environment({"A": "b=c", "ps:A": "d"}, python="/python"),
        "access": tfi.Access(["b", "c"], allow_plaintext=True),
        "evaluator": tfi.Evaluator("test"),
        "rounds": tfi.Rounds(every=60),
    }
    job = client.submit(tmp_path, args=args, **options)
    sent = node.state.jobs[job.id].spec
    assert sent.code_digest in node.state.code
    assert (sent.timeouts.HasField("stop_grace"), sent.restart.HasField("max_crashes")) == (True, True)
    options.update(args=tuple(args), access=tfi.Access(("b", "c"), allow_plaintext=True), code_digest=sent.code_digest)
    assert JobSpec.from_proto(sent) == JobSpec(**options)
    assert job.status.state == "pending"


def test_code_arrives_in_chunks_and_whole(client, node, tmp_path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "data").write_bytes(os.urandom(3_500_000))
    job = client.submit(tmp_path, cache="images")
    assert node.state.chunks == 4
    path = tmp_path / "back.zip"
    path.write_bytes(node.state.code[job.status.spec.code_digest])
    assert zipfile.ZipFile(path).read("data") == (tmp_path / "data").read_bytes()


def test_a_submission_whose_answer_is_lost_makes_one_job(client, node, script) -> None:
    node.fail_next("SubmitJob", grpc.StatusCode.UNAVAILABLE, "connection reset", after=True)
    node.fail_next("UploadCode", grpc.StatusCode.UNAVAILABLE, "connection reset")
    job = client.submit(script, cache="images")
    assert list(node.state.jobs) == [job.id]
    assert node.calls.count("SubmitJob") == 2
    assert node.calls.count("UploadCode") == 2


def test_a_call_is_tried_three_times_and_no_more(client, node) -> None:
    for _ in range(5):
        node.fail_next("ListJobs", grpc.StatusCode.UNAVAILABLE, "going away")
    with pytest.raises(errors.ConnectionFailedError, match="going away"):
        client.jobs()
    assert node.calls.count("ListJobs") == 3


def test_the_node_refuses_in_our_classes(client, script) -> None:
    with pytest.raises(errors.CacheNotFoundError, match=r"no cache 'nope'.*Load it\.$") as refused:
        client.submit(script, cache="nope")
    assert refused.value.code == "CACHE_NOT_FOUND"
    with pytest.raises(errors.CacheEmptyError):
        client.submit(script, cache="empty")
    with pytest.raises(errors.JobNotFoundError):
        client.job("nope")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"cache": ""}, "cache '' is not a name"),
        ({"args": ["a", "b\0"]}, "argument 2 .* NUL"),
        ({"args": ["\udcff"]}, "argument 1 .* not valid UTF-8"),
        ({"args": [3]}, "argument 1 3 is a int"),
        ({"args": {"--epochs": 3}}, "args {'--epochs': 3} is not a list"),
        ({"cache": 3}, "cache 3 is a int"),
        ({"name": 0}, "name 0 is a int"),
        ({"script": 3}, "script 3 is a int"),
        ({"checkpoint_directory": []}, r"checkpoint_directory \[\] is a list"),
        ({"prediction": {"output_cache": "a"}}, r"prediction is {.*}, a dict. It is a tfi\.Prediction"),
        ({"priority": 0.5}, "priority is 0.5, a float. It is a whole number"),
        ({"strategy": "solo"}, r"strategy\.kind 'solo' does not exist. It is one of multi-worker-mirrored"),
        ({"workers": {"per_node": 2}}, r"workers is {'per_node': 2}, a dict. It is a tfi\.Workers"),
        ({"strategy": 3}, r"strategy is 3, a int. It is a tfi\.Strategy"),
        ({"workers": tfi.Workers(per_node=10**11)}, r"workers\.per_node is 100000000000, a int. It is a whole number"),
        ({"workers": tfi.Workers(gpus=1e9)}, r"workers\.gpus is 1000000000.0, a float. It is a whole number"),
        ({"workers": tfi.Workers(gpus=True)}, r"workers\.gpus is True, a bool"),
        ({"workers": tfi.Workers(nodes="rack=a")}, r"workers\.nodes is 'rack=a', a str. It is a mapping by names"),
        ({"strategy": tfi.Custom(roles={"x": "2"})}, r"strategy\.roles\.x is a value of type str. It is of type int"),
        ({"environment": tfi.Environment({"A": 3})}, r"environment\.variables\.A is a value of type int"),
        ({"environment": tfi.Environment(wheels="a.whl")}, r"environment\.wheels is 'a.whl', a str. It is a list"),
        ({"access": tfi.Access(caches="b")}, r"access\.caches is 'b', a str. It is a list"),
        (
            {"access": tfi.Access(allow_plaintext="yes")},
            r"access\.allow_plaintext is 'yes', a str. It is True or False",
        ),
        ({"timeouts": tfi.Timeouts(wait=float("nan"))}, r"timeouts\.wait is nan, a float. It is a number, at most"),
        ({"timeouts": tfi.Timeouts(stall="10m")}, r"timeouts\.stall is '10m', a str. It is a number"),
        (
            {"restart": tfi.Restart(on_join="dance")},
            r"restart\.on_join 'dance' does not exist",
        ),
        ({"rounds": tfi.Rounds(every=True)}, r"rounds\.every is True, a bool"),
        (
            {"evaluator": True},
            r"evaluator is True, a bool. It is a tfi\.Evaluator. Pass",
        ),
        ({"checkpoint_directory": "checkpoints"}, "'checkpoints' is a relative path"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(client, node, script, options, fault) -> None:
    with pytest.raises(errors.InvalidRequestError, match=fault):
        client.submit(script, **{"cache": "images", **options})
    assert node.calls == ["ListNodes"]


@pytest.mark.parametrize("code", [None, 3, b"train.py", ["train.py"]])
def test_code_of_another_type_is_refused(client, node, code) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"code is .*, a \w+\. It is the path of a script"):
        client.submit(code, cache="images")
    assert node.calls == ["ListNodes"]


def test_a_script_in_a_folder_may_be_a_path(client, node, tmp_path) -> None:
    (tmp_path / "fit.py").write_text("")
    assert client.submit(tmp_path, cache="images", script=Path("fit.py")).status.spec.script == "fit.py"


def test_lists_of_options_equal_those_of_the_job(client, script) -> None:
    access = tfi.Access(caches=["b"], directories=["ignite:///c"])
    found = client.submit(script, cache="images", access=access).status.spec.access
    assert found == access
    assert hash(found) == hash(access)
    assert tfi.Environment(wheels=["a.whl"]) == tfi.Environment(wheels=("a.whl",))


@pytest.mark.parametrize(
    "strategy",
    [
        tfi.MultiWorkerMirrored(chief=True),
        tfi.ParameterServer(2, server_nodes={"rack": "a"}),
        tfi.Mirrored(),
        tfi.One(),
        tfi.CentralStorage(),
        tfi.Custom(roles={"actor": 2}),
        tfi.Strategy("one"),
    ],
)
def test_a_strategy_is_printed_as_its_call_and_equals_that_of_its_job(client, script, strategy) -> None:
    assert eval(repr(strategy), vars(tfi) | {type(strategy).__name__: type(strategy)}) == strategy
    found = client.submit(script, cache="images", strategy=strategy).status.spec.strategy
    assert found == strategy
    assert hash(found) == hash(strategy)
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert strategy != tfi.Strategy("predict")
    assert dataclasses.replace(strategy) == strategy


def test_replace_changes_the_options_of_a_strategy_and_not_its_kind() -> None:
    replaced = dataclasses.replace(tfi.ParameterServer(2, server_nodes={"rack": "a"}), servers=3)
    assert repr(replaced) == "ParameterServer(servers=3, server_nodes={'rack': 'a'})"
    with pytest.raises(ValueError, match="kind"):
        dataclasses.replace(tfi.ParameterServer(), kind="one")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"evaluator": tfi.Evaluator()}, "evaluator was given"),
        ({"args": ["--epochs", "3"]}, "args was given"),
        (
            {"environment": tfi.Environment({"ps:A": "1", "client:B": "2"})},
            r"environment\.variables\.client:B was given",
        ),
        ({"rounds": tfi.Rounds(), "args": ["a"]}, "args, rounds were given"),
    ],
)
def test_servers_of_a_client_outside_refuse_what_only_a_script_in_the_cluster_uses(
    client, node, options, fault
) -> None:
    text = fault + r" to parameter_servers\(\)\. .* script of this job is this process.*Leave .* out, or submit"
    with pytest.raises(errors.InvalidRequestError, match=text):
        client.parameter_servers("images", **options)
    nothing = {"evaluator": None, "args": ()}
    client.parameter_servers("images", servers=2, environment=tfi.Environment({"ps:A": "1"}), **nothing)
    assert node.calls == ["ListNodes"]


def test_settings_of_programs_that_begin_like_variables_of_a_task_are_the_users(client, node, script) -> None:
    env = {"TF_CPP_MIN_LOG_LEVEL": "0", "IGNITE_DATASET_USERNAME": "u", "TENSORFLOW_IGNITE_DEBUG": "1"}
    job = client.submit(script, cache="images", environment=tfi.Environment(variables=env))
    assert dict(node.state.jobs[job.id].spec.environment.variables) == env


@pytest.mark.parametrize("evaluator", ["evaluate.py", "../train.py"])
def test_a_missing_script_of_the_evaluator_is_refused_at_once(client, node, script, evaluator) -> None:
    with pytest.raises(errors.CodeNotFoundError, match=rf"no script '{evaluator}' for the evaluator.*: train\.py"):
        client.submit(script, cache="images", evaluator=tfi.Evaluator(script=evaluator))
    assert node.calls == ["ListNodes"]


def test_code_with_a_syntax_error_is_never_uploaded(client, node, script) -> None:
    script.write_text("def\n")
    with pytest.raises(errors.CodeInvalidError, match=r"train\.py:1"):
        client.submit(script, cache="images")
    assert node.calls == ["ListNodes"]


def test_a_long_list_of_jobs_comes_in_pages(client, node) -> None:
    node.state.jobs.update({f"job{i}": job_pb2.Job(id=f"job{i}", state=i % 2 + 1) for i in range(2500)})
    assert len(client.jobs()) == 1000
    assert node.calls.count("ListJobs") == 1
    assert len(client.jobs(limit=100_000)) == 2500
    assert node.calls.count("ListJobs") == 4
    assert {job.state for job in client.jobs(states=["reserving"], limit=2500)} == {"reserving"}


def test_jobs_come_newest_first_and_nodes_in_their_order(client, node, script) -> None:
    ids = [client.submit(script, cache="images").id for _ in range(3)]
    assert [job.id for job in client.jobs()] == ids[::-1]
    assert [job.id for job in client.jobs(limit=2)] == ids[:0:-1]
    node.state.nodes = [job_pb2.Node(id="b", order=2), job_pb2.Node(id="a", order=1)]
    assert [found.id for found in client.nodes()] == ["a", "b"]


def test_a_node_of_the_baseline_may_be_one_name(client, node) -> None:
    names = ("a", "b", "ab")
    node.state.baseline = job_pb2.BaselineState(
        nodes=[job_pb2.BaselineEntry(consistent_id=name, is_member=True) for name in names]
    )
    left = client.change_baseline(remove="ab")
    assert [each.consistent_id for each in left.nodes] == ["a", "b"]
    with pytest.raises(errors.InvalidRequestError, match="remove 1 is a int"):
        client.change_baseline(remove=[1])


def test_a_prefix_names_a_job(client, node) -> None:
    node.state.add(running_job("7f3a0000"))
    job = client.job("7f3a")
    assert job.id == "7f3a0000"
    node.state.update(job.id, waiting_for="x")
    assert job.status.waiting_for == ""
    assert job.refresh().waiting_for == "x"
    assert job.status.waiting_for == "x"


def test_watching_yields_each_change_until_the_end(client, node) -> None:
    node.state.add(running_job(state=job_pb2.JOB_STATE_PENDING))
    states = []
    for job in client.job("7f3a").watch():
        states.append(job.state)
        if job.state == "pending":
            node.state.update(job.id, state=job_pb2.JOB_STATE_RUNNING)
        elif job.state == "running":
            node.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED, outcome=job_pb2.JOB_STATE_SUCCEEDED)
    assert states == ["pending", "running", "succeeded"]


def test_waiting_returns_the_job_that_succeeded_and_raises_why_another_one_did_not(client, node) -> None:
    job = client.job(node.state.add(running_job()).id)
    with pytest.raises(errors.RequestTimeoutError, match=r"not over after 0\.2 s: it is running"):
        job.wait(0.2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(job.wait, LIMIT)
        node.wait_for_streams(1, LIMIT)
        node.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED)
        assert waiting.result(LIMIT).exit_code == 0
    node.state.update(job.id, state=job_pb2.JOB_STATE_STOPPED, cause="stopped by request")
    with pytest.raises(errors.JobStoppedError, match=r"was stopped \(exit code \d+\): stopped by request"):
        job.wait(LIMIT)
    node.state.update(
        job.id,
        state=job_pb2.JOB_STATE_FAILED,
        cause="worker 1 exited with code 3",
        traceback="Trace\nBoom",
        exit_code=3,
    )
    with pytest.raises(
        errors.JobFailedError, match=r"\(exit code 3\): worker 1 exited with code 3\n.*\n\nTrace\nBoom"
    ) as raised:
        job.wait(LIMIT)
    assert raised.value.job is not None
    assert raised.value.job.exit_code == 3
    assert job.wait(LIMIT, raise_on_failure=False).state == "failed"


def test_stopping_waits_for_the_proof_unless_it_need_not(client, node) -> None:
    node.state.stops = False
    job = client.job(node.state.add(running_job()).id)
    status = job.stop(wait=False)
    assert (status.stop_requested, status.state) == (True, "running")
    with pytest.raises(errors.RequestTimeoutError):
        job.stop(timeout=0.2)
    assert node.wait_for_streams(0, LIMIT)
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(job.stop, timeout=LIMIT)
        # The job is watched until the nodes have proved the end; nothing else ends the call.
        assert node.wait_for_streams(1, LIMIT)
        assert not stopping.done()
        node.state.update(job.id, state=job_pb2.JOB_STATE_STOPPED)
        assert stopping.result(LIMIT).state == "stopped"
    with pytest.raises(errors.JobFinishedError):
        job.stop()


def test_removing_a_job_that_was_just_removed_is_no_error(client, node) -> None:
    job = client.job(node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED)).id)
    job.remove()
    job.remove()
    with pytest.raises(errors.JobNotFoundError):
        job.refresh()
    with pytest.raises(errors.JobNotFinishedError):
        client.job(node.state.add(running_job()).id).remove()


def test_output_is_read_from_the_first_line_also_after_the_end(client, node) -> None:
    job = client.job(node.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED)).id)
    node.state.log(job.id, b"one\ntw")
    node.state.log(job.id, b"other\n", index=1)
    node.state.log(job.id, b"o\n")
    for follow in (False, True):
        lines = [(line.role, line.index, line.text) for line in job.logs(follow=follow)]
        assert lines == [("worker", 0, "one"), ("worker", 1, "other"), ("worker", 0, "two")]
    assert [line.text for line in job.logs(role="worker", index=1)] == ["other"]
    assert list(job.logs(role="ps")) == []
    assert list(job.logs(attempt=2)) == []


def test_following_output_ends_with_the_job(client, node) -> None:
    job = client.job(node.state.add(running_job()).id)
    node.state.log(job.id, b"first\n")
    seen = []
    for line in job.logs(follow=True):
        seen.append(line.text)
        if line.text == "first":
            node.state.log(job.id, b"second\nlast")
            node.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED)
    assert seen == ["first", "second", "last"]


@pytest.mark.parametrize("selection", [{"role": "boss"}, {"index": -1}, {"attempt": 0}])
def test_a_task_that_cannot_exist_is_refused(client, node, selection) -> None:
    job = client.job(node.state.add(running_job()).id)
    with pytest.raises(errors.InvalidRequestError, match=r"does not exist|is not a possible number"):
        job.logs(**selection)


@pytest.fixture
def pair():
    """Two nodes of one cluster, and a client that knows both."""
    with (
        NodeApiServer() as first,
        NodeApiServer(first.state) as second,
        connect(f"{first.address},{second.address}") as client,
    ):
        yield first, second, client


def test_calls_go_to_the_next_node_when_one_is_lost(pair, script) -> None:
    first, second, client = pair
    first.stop()
    job = client.submit(script, cache="images")
    assert client.address == second.address
    assert job.refresh().id == job.id


@pytest.mark.parametrize("end", [NodeApiServer.stop, NodeApiServer.end_streams], ids=["killed", "shuts-down"])
def test_output_goes_on_at_the_next_node_and_gives_each_line_once_also_of_a_replaced_task(pair, end) -> None:
    first, second, client = pair
    job = client.job(first.state.add(running_job()).id)
    first.state.log(job.id, b"one\ncut")
    first.state.log(job.id, b"anew\nmo", incarnation=1)
    seen = []
    for line in job.logs(follow=True):
        seen.append((line.incarnation, line.text))
        if line.text == "anew":
            end(first)
            second.state.log(job.id, b"re\n", incarnation=1)
        elif line.text == "more":
            second.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED)
    assert seen == [(0, "one"), (0, "cut"), (1, "anew"), (1, "more")]


@pytest.mark.parametrize("end", [NodeApiServer.stop, NodeApiServer.end_streams], ids=["killed", "shuts-down"])
def test_a_watch_goes_on_at_the_next_node_and_repeats_nothing(pair, end) -> None:
    first, second, client = pair
    job = client.job(first.state.add(running_job()).id)
    states = []
    for status in job.watch():
        states.append(status.state)
        if status.state == "running":
            end(first)
            second.state.update(job.id, state=job_pb2.JOB_STATE_SUCCEEDED)
    assert states == ["running", "succeeded"]


def test_a_stream_without_any_node_left_ends_with_an_error(node) -> None:
    with connect(node.address) as client:
        job = client.job(node.state.add(running_job()).id)
        watching = job.watch()
        assert next(watching).state == "running"
        node.stop()
        with pytest.raises(errors.ConnectionFailedError, match="no node answers at"):
            next(watching)


FROZEN_NODE = """
import sys
sys.path[:0] = [{tests!r}]
from node_api_server import NodeApiServer, running_job
with NodeApiServer() as node:
    node.state.add(running_job())
    print(node.address, flush=True)
    sys.stdin.read()
"""


def test_a_frozen_node_is_noticed_and_left() -> None:
    code = FROZEN_NODE.format(tests=str(Path(__file__).parent))
    frozen = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert frozen.stdout is not None
        address = frozen.stdout.readline().strip()
        with NodeApiServer() as healthy, connect(f"{address},{healthy.address}") as client:
            healthy.state.add(running_job(state=job_pb2.JOB_STATE_SUCCEEDED))
            states = []
            for job in client.job("7f3a").watch(timeout=3 * LIMIT):
                states.append(job.state)
                if job.state == "running":
                    frozen.send_signal(signal.SIGSTOP)
            assert states == ["running", "succeeded"]
    finally:
        frozen.kill()
        frozen.communicate()


def test_every_status_has_its_class() -> None:
    assert set(rpc.FALLBACKS) == set(grpc.StatusCode)


def test_an_answer_that_does_not_come_is_given_up(node) -> None:
    with connect(node.address, timeout=10) as client:
        node.fail_next("ListJobs", grpc.StatusCode.DEADLINE_EXCEEDED, "late")
        assert client.jobs() == []  # asked again
        for _ in range(3):
            node.fail_next("ListJobs", grpc.StatusCode.DEADLINE_EXCEEDED, "late")
        with pytest.raises(errors.RequestTimeoutError, match="ListJobs got no answer"):
            client.jobs()


def test_leaving_a_stream_early_ends_the_call(client, node) -> None:
    job = client.job(node.state.add(running_job()).id)
    watching = job.watch()
    next(watching)
    assert node.streams == 1
    watching.close()
    assert node.wait_for_streams(0, LIMIT)
