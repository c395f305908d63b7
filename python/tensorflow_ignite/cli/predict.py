"""``predict``: predicts the rows of a cache by a model or a script, into another cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.job_options import JobOptions, add_variables, complete_setting
from tensorflow_ignite.cli.options import Address, Json, complete_cache, complete_model, option, session
from tensorflow_ignite.cli.submit import report

_OPTIONS = {"name", "priority", "read_rate", "workers", "restart", "timeouts", "environment", "access"}


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
        option(
            "--script", "SCRIPT", "A script, folder or .zip archive that defines predict(batch), in place of a model."
        ),
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
    settings: Annotated[
        list[str] | None,
        option(
            "--set",
            "OPTION=VALUE",
            "Any other option of the job, as of submit; may be repeated.",
            autocompletion=complete_setting,
        ),
    ] = None,
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
      tensorflow-ignite predict digits:3 --cache images --into r3 --keep label
      tensorflow-ignite predict digits@stable --cache images --into predictions \\
        --columns pixels --where 'label < 3' --set workers.per_node=2
      tensorflow-ignite predict --script score.py --cache trips --into scores
    """
    for what, value, example in (("--cache", cache, "images"), ("--into", into, "predictions")):
        if not value:
            raise CommandLineError(
                f"the option {what} is missing. A prediction reads the rows of one cache, and writes its results into "
                f"another one. For example: {what} {example}"
            )
    options = JobOptions()
    add_variables(options, env)
    for named, given in {"name": name, "environment.requirements": requirements}.items():
        if given is not None:
            options.add(named, given, f"--{named.rpartition('.')[2]}")
    for setting in settings or []:
        options.add_setting(setting)
    chosen = options.arguments()
    useless = sorted(chosen.keys() - _OPTIONS)
    if useless:
        raise CommandLineError(
            f"{', '.join(useless)} {'is' if len(useless) == 1 else 'are'} no option of a prediction by --set. It has "
            f"{', '.join(sorted(_OPTIONS))}. Leave out the others."
        )
    with session(context, address) as client, options.placed():
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
            **chosen,
        )
        exit_code = report(job, wait=wait, json_output=json_output)
    raise typer.Exit(exit_code)


def _names(given: list[str] | None) -> list[str]:
    """The names of options that may be repeated, and may have commas."""
    return [name.strip() for item in given or [] for name in item.split(",") if name.strip()]
