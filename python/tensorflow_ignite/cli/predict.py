"""``predict``: predicts the rows of a cache by a model or a script, into another cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Json, complete_cache, complete_model, one_of, option, session
from tensorflow_ignite.spec import ON_JOIN


def predict(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help="The model: NAME, NAME:VERSION or NAME@LABEL.", autocompletion=complete_model
        ),
    ] = None,
    cache: Annotated[
        str, option("--cache", "NAME", "The cache with the rows. Required.", autocompletion=complete_cache)
    ] = "",
    into: Annotated[
        str, option("--into", "NAME", "The cache for the results, made if it does not exist. Required.")
    ] = "",
    script: Annotated[
        Path | None,
        option("--script", "SCRIPT|FOLDER|ZIP", "A script that defines predict(batch), in place of a model."),
    ] = None,
    signature: Annotated[
        str, option("--signature", "NAME", "The function of the model; its default one when left out.")
    ] = "",
    columns: Annotated[
        list[str] | None,
        option("--columns", "COLUMNS", "Columns for the model or script, with commas between; may be repeated."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        option("--keep", "COLUMN", "A column that is copied into the results; may be repeated, or have commas."),
    ] = None,
    where: Annotated[
        str | None, option("--where", "SQL", "Only rows that meet this condition, such as 'label < 3'.")
    ] = None,
    batch_size: Annotated[
        int | None, option("--batch-size", "ROWS", "Rows of a call of the model or script; else 8192.")
    ] = None,
    requirements: Annotated[
        Path | None, option("--requirements", "FILE", "Packages that each node installs by pip for the job.")
    ] = None,
    env: Annotated[
        list[str] | None, option("--env", "NAME=VALUE", "Set a variable in every task; may be repeated.")
    ] = None,
    name: Annotated[str | None, option("--name", "TEXT", "To recognize the job by; else the model's name.")] = None,
    workers_per_node: Annotated[
        int | None,
        option("--workers-per-node", "NUMBER", "Tasks that share the partitions of one node; 1 when left out."),
    ] = None,
    gpus_per_worker: Annotated[int, option("--gpus-per-worker", "NUMBER", "GPUs that each task has for itself.")] = 0,
    read_rate: Annotated[
        str, option("--read-rate", "RATE", "The most read from each node in a second: 200MB, or 50000rows.")
    ] = "",
    priority: Annotated[
        int, option("--priority", "NUMBER", "From -100 to 100: each unit moves it ten minutes forward in the queue.")
    ] = 0,
    on_join: Annotated[
        str, option("--on-join", "WHAT", f"When a node joins: {', '.join(ON_JOIN)}.", autocompletion=one_of(ON_JOIN))
    ] = ON_JOIN[0],
    allow_data_loss: Annotated[
        bool, typer.Option("--allow-data-loss", help="Predict the remaining rows when some are lost.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--detach", help="Print the job's output until it is over, or only print its id.")
    ] = True,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Predict the rows of a cache beside its nodes, into another cache.

    Each node predicts the rows that it owns, and stores the results beside them, by the same keys. It is a job: ps,
    describe, logs, attach and stop work with it, and restarts predict no partition again that was finished.

    \b
    Examples:
      tensorflow-ignite predict digits --cache images --into predictions
      tensorflow-ignite predict digits:3 --cache images --into predictions --columns pixels --keep label
      tensorflow-ignite predict digits@stable --cache images --into predictions --where 'label < 3'
      tensorflow-ignite predict --script score.py --cache trips --into scores
    """
    for what, value, example in (("--cache", cache, "images"), ("--into", into, "predictions")):
        if not value:
            raise CommandLineError(
                f"the option {what} is missing. A prediction reads the rows of one cache, and writes its results into "
                f"another one. For example: {what} {example}"
            )
    if on_join not in ON_JOIN:
        raise CommandLineError(f"--on-join {on_join!r} does not exist. It is one of {', '.join(ON_JOIN)}. Name one.")
    variables: dict[str, str] = {}
    for item in env or []:
        variable, equals, value = item.partition("=")
        if not equals or not variable:
            raise CommandLineError(f"--env {item!r} is not NAME=VALUE. For example: --env SEED=7")
        variables[variable] = value
    with session(context, address) as client:
        from tensorflow_ignite.cli.follow import follow
        from tensorflow_ignite.cli.render import print_json, short_id

        options = {} if name is None else {"name": name}
        job = client.predict(
            model,
            cache=cache,
            into=into,
            script=script,
            signature=signature,
            columns=_names(columns) or None,
            keep=_names(keep),
            where=where,
            batch_size=batch_size,
            requirements=requirements,
            env=variables,
            workers_per_node=workers_per_node,
            gpus_per_worker=gpus_per_worker,
            read_rate=read_rate,
            priority=priority,
            on_join=on_join,
            allow_data_loss=allow_data_loss,
            **options,
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


def _names(given: list[str] | None) -> list[str]:
    """The names of options that may be repeated, and may have commas."""
    return [name.strip() for item in given or [] for name in item.split(",") if name.strip()]
