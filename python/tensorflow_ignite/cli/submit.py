"""``submit``: makes a job of code, options and the script's own arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Json, complete_cache, one_of, option, period, session
from tensorflow_ignite.jobs.checks import MAX_NAMED_TASKS
from tensorflow_ignite.kinds import DEFAULT_KIND, TRAINING_KINDS
from tensorflow_ignite.spec import ON_JOIN, QUORUMS

# Python converts no text of some thousand digits to a number.
_COUNT_DIGITS = 9


def submit(
    context: typer.Context,
    code: Annotated[
        str, typer.Argument(metavar="SCRIPT|FOLDER|ZIP", help="The code: a script, a folder, a .zip archive.")
    ],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="Everything after the code goes to the script untouched.")
    ] = None,
    cache: Annotated[
        str | None,
        option("--cache", "NAME", "The cache whose rows it trains on. Required.", autocompletion=complete_cache),
    ] = None,
    kind: Annotated[
        str, option("--kind", "KIND", f"One of {', '.join(TRAINING_KINDS)}.", autocompletion=one_of(TRAINING_KINDS))
    ] = DEFAULT_KIND,
    workers_per_node: Annotated[
        int | None,
        option("--workers-per-node", "NUMBER", "Workers that share the partitions of one node; 1 when left out."),
    ] = None,
    gpus_per_worker: Annotated[
        int, option("--gpus-per-worker", "NUMBER", "GPUs that each worker has for itself; its tasks see no others.")
    ] = 0,
    nodes: Annotated[
        list[str] | None,
        option("--nodes", "ATTRIBUTE=VALUE", "Run workers only on nodes with this attribute; may be repeated."),
    ] = None,
    ps: Annotated[
        int | None, option("--ps", "NUMBER", "Parameter servers of a parameter-server job; 1 when left out.")
    ] = None,
    ps_nodes: Annotated[
        list[str] | None,
        option("--ps-nodes", "ATTRIBUTE=VALUE", "The same for parameter servers; else the workers' nodes."),
    ] = None,
    role: Annotated[
        list[str] | None,
        option("--role", "NAME=NUMBER", "Further tasks of a custom job, by the name of their role; may be repeated."),
    ] = None,
    chief: Annotated[bool, typer.Option("--chief", help="Let TF_CONFIG call the first worker the chief.")] = False,
    evaluator: Annotated[
        bool, typer.Option("--evaluator", help="A further task evaluates each checkpoint; it runs the script too.")
    ] = False,
    evaluator_script: Annotated[
        str | None, option("--evaluator-script", "PATH", "Another script for the evaluator, in the folder or archive.")
    ] = None,
    evaluate_cache: Annotated[
        str,
        option("--evaluate-cache", "NAME", "A cache with rows for the evaluator.", autocompletion=complete_cache),
    ] = "",
    script: Annotated[
        str | None, option("--script", "PATH", "The script in a folder or archive; else main.py or train.py.")
    ] = None,
    env: Annotated[
        list[str] | None,
        option("--env", "[ROLE:]NAME=VALUE", "Set a variable in every task, or in those of a role; may be repeated."),
    ] = None,
    requirements: Annotated[
        Path | None,
        option(
            "--requirements", "FILE", "Packages that each node installs by pip for the job, once for the same file."
        ),
    ] = None,
    wheel: Annotated[
        list[Path] | None,
        option("--wheel", "FILE", "A wheel to install, sent with the code; then no index is used; may be repeated."),
    ] = None,
    python: Annotated[
        str | None, option("--python", "PATH", "The interpreter of the tasks on every node; else that of each node.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print also what TensorFlow's C++ says about the machine and its graphs.")
    ] = False,
    name: Annotated[str | None, option("--name", "TEXT", "To recognize the job by; else the script's name.")] = None,
    checkpoint_directory: Annotated[
        str | None,
        option(
            "--checkpoint-directory",
            "PATH",
            "Where the script keeps checkpoints, a path or URL that every node sees; else inside the cluster.",
        ),
    ] = None,
    start_timeout: Annotated[
        float | None, option("--start-timeout", "SECONDS", "How long it may take until every task runs.")
    ] = None,
    first_step_timeout: Annotated[
        float | None,
        option(
            "--first-step-timeout", "SECONDS", "How long a task may be silent before its first step; else 300; 0: off."
        ),
    ] = None,
    stall_timeout: Annotated[
        float | None,
        option("--stall-timeout", "SECONDS", "How long a task may take for a further step; else 600; 0: off."),
    ] = None,
    stop_grace: Annotated[
        float | None,
        option(
            "--stop-grace",
            "SECONDS",
            "Time of a planned end, and between SIGTERM and SIGKILL.",
        ),
    ] = None,
    max_crashes: Annotated[
        int | None, option("--max-crashes", "NUMBER", "Crashes that are followed by a restart; else 3.")
    ] = None,
    max_restarts: Annotated[
        int | None,
        option(
            "--max-restarts", "NUMBER", "Restarts in a row for nodes or data, without a further step between; else 20."
        ),
    ] = None,
    min_workers: Annotated[
        int | None, option("--min-workers", "NUMBER", "The least number of workers to start with.")
    ] = None,
    wait_timeout: Annotated[
        float | None, option("--wait-timeout", "SECONDS", "How long it may wait for rows and nodes to start.")
    ] = None,
    priority: Annotated[
        int,
        option("--priority", "NUMBER", "From -100 to 100: each unit moves it ten minutes forward in the queue."),
    ] = 0,
    read_rate: Annotated[
        str,
        option("--read-rate", "RATE", "The most read from each node in a second: 200MB, or 50000rows."),
    ] = "",
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Train in rounds without an end, on what was put since the last one.")
    ] = False,
    every: Annotated[
        str | None, option("--every", "TIME", "Begin a round so long after the last one began: 90s, 10m, 12h.")
    ] = None,
    when_rows: Annotated[
        int | None, option("--when-rows", "NUMBER", "Begin a round after this number of changes of the cache.")
    ] = None,
    replay: Annotated[
        float, option("--replay", "PART", "The part of a round's rows that were there before: 0.5 is half of them.")
    ] = 0.0,
    on_join: Annotated[
        str, option("--on-join", "WHAT", f"When a node joins: {', '.join(ON_JOIN)}.", autocompletion=one_of(ON_JOIN))
    ] = ON_JOIN[0],
    quorum: Annotated[
        str,
        option("--quorum", "HOW", f"Nodes needed for a restart: {', '.join(QUORUMS)}.", autocompletion=one_of(QUORUMS)),
    ] = QUORUMS[0],
    allow_data_loss: Annotated[
        bool, typer.Option("--allow-data-loss", help="Start and go on with the remaining rows when some are lost.")
    ] = False,
    with_cache: Annotated[
        list[str] | None,
        option(
            "--with-cache",
            "NAME",
            "A further cache that its tasks may read; may be repeated.",
            autocompletion=complete_cache,
        ),
    ] = None,
    with_directory: Annotated[
        list[str] | None,
        option(
            "--with-directory",
            "URL",
            "Further files of the cluster that its tasks may use: ignite:///models/trips; may be repeated.",
        ),
    ] = None,
    allow_plaintext: Annotated[
        bool,
        typer.Option(
            "--allow-plaintext", help="Run on a cluster with TLS, though TensorFlow's own connections have none."
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--detach", help="Print the job's output until it is over, or only print its id.")
    ] = True,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Submit a job that trains beside the rows of a cache.

    Options stand before the code; everything after it goes to the script.

    With --wait the exit code is the job's, and Ctrl-C detaches: the job goes on.

    With --json the tasks' output goes to standard error, and the job to
    standard output, when it is over (with --detach: as it is submitted).

    \b
    Examples:
      tensorflow-ignite submit --cache images train.py --epochs 3
      tensorflow-ignite submit --cache images --env SEED=7 project/ -c a.yaml
      tensorflow-ignite submit --cache images --script src/fit.py code.zip
      tensorflow-ignite submit --cache images --requirements requirements.txt train.py
      tensorflow-ignite submit --cache images --wheel dist/my-1.0-py3-none-any.whl train.py
      tensorflow-ignite submit --cache clicks --kind parameter-server train.py
      tensorflow-ignite submit --cache images --kind mirrored --gpus-per-worker 4 train.py
      tensorflow-ignite submit --cache images --nodes rack=a train.py
      tensorflow-ignite submit --cache images --workers-per-node 2 train.py
      tensorflow-ignite submit --cache images --evaluate-cache test train.py
      tensorflow-ignite submit --cache images --priority 10 train.py
      tensorflow-ignite submit --cache images --read-rate 200MB train.py
      tensorflow-ignite submit --cache trips --continuous --every 10m train.py
      id=$(tensorflow-ignite submit --detach --cache images train.py)
    """
    given = args or []
    if cache is None:
        hint = ""
        if any(arg == "--cache" or arg.startswith("--cache=") for arg in given):
            hint = f" (the one after {code!r} goes to the script)"
        raise CommandLineError(
            f"the option --cache is missing{hint}. A job trains on the rows of one cache, and options stand before "
            f"the code. For example: tensorflow-ignite submit --cache NAME {code}"
        )
    if kind not in TRAINING_KINDS:
        raise CommandLineError(
            f"--kind {kind!r} does not exist. Kinds are {', '.join(TRAINING_KINDS)}. Name one of them."
        )
    if quorum not in QUORUMS:
        raise CommandLineError(f"--quorum {quorum!r} does not exist. It is one of {', '.join(QUORUMS)}. Name one.")
    if on_join not in ON_JOIN:
        raise CommandLineError(f"--on-join {on_join!r} does not exist. It is one of {', '.join(ON_JOIN)}. Name one.")
    variables = {"TF_CPP_MIN_LOG_LEVEL": "0"} if verbose else {}
    role_variables: dict[str, dict[str, str]] = {}
    for item in env or []:
        variable, value = _parse_pair("--env", item, "SEED=7, or for parameter servers: ps:SEED=7")
        of_role, colon, variable_name = variable.rpartition(":")
        (role_variables.setdefault(of_role, {}) if colon else variables)[variable_name] = value
    attributes, ps_attributes = _parse_attributes("--nodes", nodes), _parse_attributes("--ps-nodes", ps_nodes)
    roles = _parse_roles(role)

    # Before the first call: a script with a syntax error is reported also where no node answers.
    from tensorflow_ignite.jobs.archive import pack

    archive = pack(code, script, requirements=requirements, wheels=wheel or [])
    with session(context, address) as client:
        from tensorflow_ignite.cli.follow import follow
        from tensorflow_ignite.cli.render import print_json, short_id

        job = client.submit(
            archive,
            cache=cache,
            kind=kind,
            args=given,
            env=variables,
            name=name,
            ps=ps,
            checkpoint_directory=checkpoint_directory,
            start_timeout=start_timeout,
            first_step_timeout=first_step_timeout,
            stall_timeout=stall_timeout,
            stop_grace=stop_grace,
            max_crashes=max_crashes,
            max_restarts=max_restarts,
            min_workers=min_workers,
            wait_timeout=wait_timeout,
            on_join=on_join,
            quorum=quorum,
            allow_data_loss=allow_data_loss,
            more_caches=with_cache or [],
            allow_plaintext=allow_plaintext,
            python=python,
            priority=priority,
            read_rate=read_rate,
            continuous=continuous,
            every=None if every is None else period("--every", every),
            when_rows=when_rows,
            replay=replay,
            workers_per_node=workers_per_node,
            nodes=attributes,
            ps_nodes=ps_attributes,
            role_env=role_variables,
            chief=chief,
            roles=roles,
            gpus_per_worker=gpus_per_worker,
            more_directories=with_directory or [],
            evaluator=evaluator_script or evaluator or bool(evaluate_cache),
            evaluation_cache=evaluate_cache,
        )
        exit_code = 0
        if wait:
            end = f"tensorflow-ignite stop {short_id(job.id)}"
            print(f"job {job.id} submitted; Ctrl-C detaches; end it: {end}", file=sys.stderr)
            exit_code = follow(job, sys.stderr if json_output else sys.stdout)
        if json_output:
            print_json(job.status.to_dict())
        elif not wait:
            print(job.id)
    raise typer.Exit(exit_code)


def _parse_pair(name: str, item: str, example: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not equals or not key:
        raise CommandLineError(f"{name} {item!r} is not NAME=VALUE. For example: {name} {example}")
    return key, value


def _parse_pairs(name: str, items: list[str] | None, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in items or []:
        key, value = _parse_pair(name, item, example)
        if pairs.setdefault(key, value) != value:
            raise CommandLineError(
                f"{name} {key!r} is given twice: {pairs[key]!r} and {value!r}. Each name has one value, and all of "
                f"them count together. Give {name} {key}=VALUE once."
            )
    return pairs


def _parse_attributes(name: str, items: list[str] | None) -> dict[str, str]:
    pairs = _parse_pairs(name, items, "rack=a")
    for attribute, value in pairs.items():
        if not value:
            raise CommandLineError(
                f"{name} {attribute}= has no value. Tasks run on the nodes whose attribute has the value. For example: "
                f"{name} {attribute}=a"
            )
    return pairs


def _parse_roles(items: list[str] | None) -> dict[str, int]:
    pairs = _parse_pairs("--role", items, "reader=2")
    for role, number in pairs.items():
        if not number.isdecimal() or len(number) > _COUNT_DIGITS:
            raise CommandLineError(
                f"--role {role}={number} has no possible number of tasks. It is a whole number from 1 to "
                f"{MAX_NAMED_TASKS}, and all roles together have at most {MAX_NAMED_TASKS} tasks. For example: "
                f"--role {role}=2"
            )
    return {role: int(number) for role, number in pairs.items()}
