"""Options of a job on the command line: from a job file, from flags, and from --set."""

import dataclasses
import re
from pathlib import Path

import grpc
import pytest

from tensorflow_ignite import groups
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.job_options import JobOptions
from tensorflow_ignite.jobs import options
from tensorflow_ignite.spec import JobSpec
from tensorflow_ignite.v1 import job_pb2

FILE = """
code: train.py
cache: images
name: 007
args: [--epochs, 3, "a b"]
priority: 5
strategy:
  kind: parameter-server
  servers: 2
workers: {per_node: 2, nodes: {rack: a}}
timeouts:
  stall: 10m
  wait: 90
environment:
  variables:
    SEED: 7
    FLAG: yes
    ps:OMP_NUM_THREADS: "1"
  requirements: needed.txt
access:
  caches: [test]
  allow_plaintext: true
evaluator:
rounds: ~
"""


def write(folder: Path, text: str) -> str:
    path = folder / "job.yaml"
    path.write_text(text)
    return str(path)


def error_of(folder: Path, text: str) -> str:
    with pytest.raises(CommandLineError) as caught:
        JobOptions().add_file(write(folder, text))
    return str(caught.value).replace(f"{folder}/", "")


def test_a_job_file_has_the_options_of_submit_by_their_names(tmp_path) -> None:
    given = JobOptions()
    given.add_file(write(tmp_path, FILE))
    assert (given.code, given.args) == (str(tmp_path / "train.py"), ["--epochs", "3", "a b"])
    assert given.arguments() == {
        "cache": "images",
        # Texts stay as they are written.
        "name": "007",
        "priority": 5,
        "strategy": groups.Strategy("parameter-server", 2),
        "workers": groups.Workers(per_node=2, nodes={"rack": "a"}),
        "timeouts": groups.Timeouts(stall=600.0, wait=90.0),
        "environment": groups.Environment(
            {"SEED": "7", "FLAG": "yes", "ps:OMP_NUM_THREADS": "1"}, requirements=str(tmp_path / "needed.txt")
        ),
        "access": groups.Access(("test",), allow_plaintext=True),
        "evaluator": groups.Evaluator(),
        "rounds": groups.Rounds(),
    }


def test_a_strategy_without_options_is_its_kind(tmp_path) -> None:
    given = JobOptions()
    given.add_file(write(tmp_path, "code: a.py\ncache: c\nstrategy: mirrored\n"))
    assert given.arguments()["strategy"] == groups.Strategy("mirrored")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("cache: c\n", "job.yaml has no code"),
        ("", "job.yaml: the file has no options by their names"),
        ("- a\n", "job.yaml line 1: the file has no options"),
        ("code: [a\n", "job.yaml line 2 is not YAML: "),
        ("code: a.py\nchache: c\n", "job.yaml line 2: chache is no option of a job. Perhaps you mean cache"),
        ("code: a.py\nworkers:\n  per_nod: 2\n", "job.yaml line 3: workers.per_nod is no option of a job. Perhaps"),
        ("code: a.py\nworkers:\n  per_node: two\n", "job.yaml line 3: workers.per_node is 'two'. It is a whole number"),
        ("code: a.py\nworkers: 2\n", "job.yaml line 2: workers is '2'. It is a group of options."),
        ("code: a.py\nworkers: [2]\n", "job.yaml line 2: workers has no options by their names"),
        ("code: a.py\ntimeouts:\n  stall: soon\n", "job.yaml line 3: timeouts.stall is 'soon'. It is a number"),
        ("code: a.py\nstrategy: horovod\n", "job.yaml line 2: strategy 'horovod' does not exist"),
        ("code: a.py\naccess:\n  caches: b\n", "job.yaml line 3: access.caches is no list"),
        ("code: a.py\nargs: --epochs\n", "job.yaml line 2: args is no list"),
        ("code: a.py\nname: [a]\n", "job.yaml line 2: name has a list or options below it"),
        ("code: a.py\naccess:\n  allow_plaintext: 1\n", "allow_plaintext is '1'. It is true or false"),
        ("code: a.py\ncache: a\ncache: b\n", "job.yaml line 3: cache is given twice, the first time in line 2"),
        # Without the code, everything in the folder of the file would be sent.
        ("code:\ncache: c\n", "job.yaml has no code"),
        ("code: ''\ncache: c\n", "job.yaml has no code"),
        ("code: other.yaml\n", "job.yaml line 1: code is 'other.yaml', a job file. It is a script"),
        ("code: config.toml\n", "config.toml is neither code nor a job file"),
        ("? [a]\n: b\n", "job.yaml line 1: the file has an entry without a name"),
        ("code: a.py\nenvironment:\n  variables: {'': secret}\n", "line 3: environment.variables has an entry without"),
        ("code: a.py\naccess:\n  caches: !!seq a\n", "job.yaml line 3: access.caches is no list"),
        ("code: a.py\nworkers: !!map [a]\n", "job.yaml line 2: workers has no options by their names"),
        ("[" * 2000, "job.yaml is not YAML: maximum recursion depth exceeded"),
        ('name: "\\UFFFFFFFF"', "job.yaml is not YAML: "),
        ("# " + "é" * 131_072, "job.yaml has more than 262,144 bytes"),
        (
            "code: a.py\nenvironment:\n  variables: A=1\n",
            "job.yaml line 3: environment.variables has no options by their names",
        ),
    ],
)
def test_a_mistake_in_a_job_file_is_named_with_its_line(tmp_path, text, error) -> None:
    assert error in error_of(tmp_path, text)


@pytest.mark.parametrize("empty", ["", " {}", " ~"])
def test_a_group_without_options_has_its_defaults(tmp_path, empty) -> None:
    given = JobOptions()
    given.add_file(write(tmp_path, f"code: a.py\nevaluator:{empty}\nrounds:{empty}\n"))
    assert given.arguments() == {"evaluator": groups.Evaluator(), "rounds": groups.Rounds()}


@pytest.mark.parametrize(
    "text",
    [
        "strategy: {kind: custom, roles: {actor: 2}}\naccess: {caches: [a, b]}\nrounds: {replay: .5}\n",
        "strategy.kind: custom\nstrategy.roles.actor: 2\naccess.caches: [a, b]\nrounds.replay: 0.5\n",
        None,
    ],
)
def test_names_and_values_of_options_are_the_same_in_files_and_settings(tmp_path, text) -> None:
    given = JobOptions()
    if text is None:
        for setting in ("strategy=custom", "strategy.roles.actor=2", "access.caches=a, b", "rounds.replay=.5"):
            given.add_setting(setting)
    else:
        given.add_file(write(tmp_path, f"code: a.py\n{text}"))
    assert given.arguments() == {
        "strategy": groups.Strategy("custom", roles={"actor": 2}),
        "access": groups.Access(("a", "b")),
        "rounds": groups.Rounds(replay=0.5),
    }


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ("workers", None),
        ("workers=2", "--set workers: workers is a group of options. An option of a group has its own name. Set one"),
        ("workers.per_node", "--set 'workers.per_node' is not OPTION=VALUE, or the name of a group"),
        (
            "worker.per_node=2",
            "--set worker.per_node: worker.per_node is no option of a job. Perhaps you mean workers.",
        ),
        ("workers.per_node=2.5", "workers.per_node is '2.5'. It is a whole number"),
        ("workers.nodes=a", "workers.nodes has values by names"),
        ("environment.variables.A=b=c", None),
        ("restart.quorum=most", "restart.quorum 'most' does not exist. It is one of majority, none"),
        ("timeouts.stall=1x", "timeouts.stall is '1x'"),
        ("rounds.replay=0.5s", "rounds.replay is '0.5s'. It is a number. For example: 0.5"),
        ("prediction.output_cache=a", "is no option of a job"),
    ],
)
def test_a_setting_has_the_name_and_the_type_of_its_option(setting, error) -> None:
    given = JobOptions()
    if error is None:
        given.add_setting(setting)
        assert given.arguments()
        return
    with pytest.raises(CommandLineError) as caught:
        given.add_setting(setting)
    assert error in str(caught.value)


def test_an_option_that_is_given_twice_is_refused_with_both_places(tmp_path) -> None:
    given = JobOptions()
    given.add_file(write(tmp_path, "code: a.py\nworkers:\n  per_node: 2\nenvironment:\n  variables: {A: 1}\n"))
    with pytest.raises(
        CommandLineError, match=r"workers.per_node is given twice: .*yaml line 3, and --set workers.per"
    ):
        given.add_setting("workers.per_node=3")
    given.add_setting("environment.variables.B=2")
    with pytest.raises(CommandLineError, match=r"environment.variables.A is given twice: .*yaml line 5, and --set"):
        given.add_setting("environment.variables.A=2")


def test_an_error_of_a_node_names_the_place_of_the_option(cli, node, script) -> None:
    script.with_name("job.yaml").write_text(
        "code: train.py\ncache: images\nstrategy: mirrored\nrounds:\n  replay: 0.5\n"
    )
    node.fail_next(
        "SubmitJob",
        grpc.StatusCode.INVALID_ARGUMENT,
        "rounds is set for a job of kind mirrored. [code=INVALID_REQUEST]",
    )
    code, out, err = cli("submit", script.with_name("job.yaml"))
    assert (code, out) == (2, "")
    assert f"{script.with_name('job.yaml')} line 5: rounds is set for a job of kind mirrored." in " ".join(err.split())


def test_an_error_about_an_entry_of_a_mapping_names_its_place(cli, node, script) -> None:
    script.with_name("job.yaml").write_text(
        "code: train.py\ncache: images\nenvironment:\n  variables:\n    GOOD: 1\n    bad-name: 2\n"
    )
    node.fail_next(
        "SubmitJob",
        grpc.StatusCode.INVALID_ARGUMENT,
        "environment.variables has 'bad-name', which is not a name of a variable. [code=INVALID_REQUEST]",
    )
    err = cli("submit", script.with_name("job.yaml"))[2]
    assert f"{script.with_name('job.yaml')} line 6: environment.variables has 'bad-name'" in " ".join(err.split())


def test_the_error_of_a_job_file_without_a_cache_names_both_places_for_it(cli, node, script) -> None:
    file = script.with_name("job.yaml")
    file.write_text("code: train.py\n")
    code, out, err = cli("submit", file)
    assert (code, out) == (2, "")
    assert f"Write cache: NAME into {file}, or give --cache NAME before it." in " ".join(err.split())
    assert cli("submit", "--detach", "--cache", "images", file)[0] == 0


@pytest.mark.parametrize("name", ["job.toml", "job.json", "JOB.TOML"])
def test_options_in_another_format_are_not_submitted_as_a_script(cli, node, script, name) -> None:
    script.with_name(name).write_text("code = 'train.py'\n")
    code, out, err = cli("submit", "--cache", "images", script.with_name(name))
    assert (code, out, node.calls) == (2, "", [])
    assert f"{name} is neither code nor a job file. A job file is YAML" in " ".join(err.split())


def sentence(field) -> str:
    found = field.GetOptions().Extensions[job_pb2.rule].help
    assert re.fullmatch(r"[A-Z].+\.", found), field.full_name
    return found[:-1]


def test_every_option_stands_in_the_help_and_has_a_sentence_that_begins_its_docstring(cli) -> None:
    text = " ".join(cli("submit", "--help")[1].split())
    for name, group in options.GROUPS.items():
        fields = [field.name for field in dataclasses.fields(group)]
        assert f"{name} {' '.join(fields)}" in text
        described = job_pb2.JobSpec.DESCRIPTOR.fields_by_name[name]
        docstring = " ".join(group.__doc__.replace("`", "").split())
        assert docstring.startswith(sentence(described))
        for option in fields:
            assert f" {option}: {sentence(described.message_type.fields_by_name[option])}" in docstring
    assert set(options.names()) <= {
        *(field.name for field in dataclasses.fields(JobSpec)),
        *(f"{name}.{field.name}" for name, group in options.GROUPS.items() for field in dataclasses.fields(group)),
    }
