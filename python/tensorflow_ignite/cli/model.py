"""``model``: the models of the cluster, their versions and labels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tensorflow_ignite.base import rates
from tensorflow_ignite.cli.options import Address, Json, complete_model, option, session
from tensorflow_ignite.cli.render import age, escaped, paint, print_json, short_id, size, table, timestamp

if TYPE_CHECKING:
    from tensorflow_ignite.models.deployments import BatchRule, Deployment
    from tensorflow_ignite.models.version import ModelVersion

app = typer.Typer(no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of the model.", show_default=False, autocompletion=complete_model),
]
Reference = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="NAME:VERSION, NAME@LABEL or NAME: the version with the label stable, else the newest one.",
        show_default=False,
        autocompletion=complete_model,
    ),
]


@app.callback()
def model() -> None:
    """Add, list, describe, label, remove and serve models of the cluster.

    A model has numbered versions, which never change, and labels, which move
    from version to version. Scripts make versions by tfi.train.export.

    \b
    Examples:
      tensorflow-ignite model add digits digits.keras
      tensorflow-ignite model ls
      tensorflow-ignite model describe digits@stable
      tensorflow-ignite model label digits:3 stable
      tensorflow-ignite model rm digits:1
      tensorflow-ignite model deploy digits --replicas 2
    """


def add(
    context: typer.Context,
    name: Name,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A SavedModel or a .keras file: a path, or a URL such as s3://… or ignite:///jobs/….",
            show_default=False,
        ),
    ],
    label: Annotated[str, option("--label", "LABEL", "Give the new version this label, such as stable.")] = "",
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Copy a model into the cluster, as the next version of its name.

    \b
    Examples:
      tensorflow-ignite model add digits digits.keras
      tensorflow-ignite model add digits exported/ --label stable
      tensorflow-ignite model add digits s3://models/digits/7
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with session(context, address) as client:
        version = client.models.add(name, _in_cluster(source, client.address), label=label)
    if json_output:
        print_json(_as_dict(version))
        return
    print(f"{version.reference} ({size(version.bytes)}){f', labelled {label}' if label else ''}")


def ls(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Names of models; all when left out.", autocompletion=complete_model),
    ] = None,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """List the versions of models, the newest first.

    \b
    Examples:
      tensorflow-ignite model ls
      tensorflow-ignite model ls digits --json | jq '.[0].reference'
    """
    with session(context, address) as client:
        models = client.models
        versions = [version for name in names or models.names() for version in models.versions(name)]
    if json_output:
        print_json([_as_dict(version) for version in versions])
        return
    rows = [
        [
            version.reference,
            ", ".join(version.labels) or "-",
            version.format,
            size(version.bytes),
            age(version.created_at),
            short_id(version.job) if version.job else "-",
        ]
        for version in versions
    ]
    heads = ["MODEL", "LABELS", "FORMAT", "SIZE", "AGE", "JOB"]
    print(table(heads, rows, optional=("FORMAT", "SIZE"), elastic=("LABELS", "MODEL")))


def describe(context: typer.Context, reference: Reference, address: Address = None, json_output: Json = False) -> None:
    """Show one version of a model: what it takes and returns, its labels, files and job, and where it is served.

    \b
    Examples:
      tensorflow-ignite model describe digits
      tensorflow-ignite model describe digits:3 --json | jq .signatures
    """
    with session(context, address) as client:
        models = client.models
        version = models.get(reference)
        deployment = next((found for found in models.deployments() if found.name == version.name), None)
    if json_output:
        print_json({**_as_dict(version), "deployment": deployment.to_dict() if deployment else None})
        return
    print(f"model {paint(version.reference, 'bold')}")
    facts = [
        ("labels", ", ".join(version.labels)),
        ("format", version.format),
        ("url", version.url),
        ("size", size(version.bytes)),
        ("digest", version.digest),
        ("created", timestamp(version.created_at)),
        ("job", version.job),
    ]
    for key, value in facts:
        if value:
            print(f"  {key + ':':<10}{value}")
    for name, signature in version.signatures.items():
        print(f"\nsignature {paint(escaped(name), 'bold')}")
        for key, specs in (("takes", signature.inputs), ("returns", signature.outputs)):
            for number, spec in enumerate(specs):
                print(f"  {f'{key}:' if not number else '':<10}{escaped(str(spec))}")
    if deployment is not None:
        _print_deployment(deployment)


def label(
    context: typer.Context,
    reference: Reference,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="Such as stable or canary.", show_default=False)],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the label from the model.")] = False,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Move a label to a version, in one step; the version that had it loses it.

    A name without a version means the version with the label stable, and the
    nodes serve it. So moving that label to an earlier version is a rollback. The
    label stable of a model that is deployed is moved, and not removed.

    \b
    Examples:
      tensorflow-ignite model label digits:3 stable
      tensorflow-ignite model label digits canary --remove
    """
    from tensorflow_ignite.models.version import parse_reference

    with session(context, address) as client:
        models = client.models
        if remove:
            models.unlabel(reference, label)
            found: dict[str, Any] = {"name": parse_reference(reference).name, "label": label, "version": None}
        else:
            version = models.label(reference, label)
            found = {"name": version.name, "label": label, "version": version.number}
    if json_output:
        print_json(found)
        return
    print(f"{found['name']}@{label} is removed" if remove else f"{found['name']}@{label} is {version.reference}")


def rm(
    context: typer.Context,
    reference: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="NAME:VERSION: this version. NAME alone: the model with all its versions and labels.",
            show_default=False,
            autocompletion=complete_model,
        ),
    ],
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Remove a version of a model; with a name alone, the model with all its versions and labels.

    A version with a label is not removed alone. The number of a removed version
    is used again only after the whole model is removed.

    \b
    Examples:
      tensorflow-ignite model rm digits:1
      tensorflow-ignite model rm digits
    """
    with session(context, address) as client:
        version = client.models.remove(reference)
    removed = str(version) if version else reference
    if json_output:
        print_json({"removed": removed})
        return
    print(f"{removed} is removed")


def deploy(
    context: typer.Context,
    reference: Reference,
    replicas: Annotated[str, option("--replicas", "N|all", "Number of nodes that serve it; all by default.")] = "",
    memory: Annotated[
        str, option("--memory", "SIZE|none", "Largest memory of each process, such as 2GiB; none by default.")
    ] = "",
    max_batch_rows: Annotated[
        int | None, option("--max-batch-rows", "N", "Largest number of rows of a batch of requests; 256 by default.")
    ] = None,
    max_batch_delay: Annotated[
        float | None,
        option("--max-batch-delay", "MILLISECONDS", "For how long a request waits for others; 2 by default."),
    ] = None,
    max_waiting_rows: Annotated[
        int | None,
        option("--max-waiting-rows", "N", "Largest number of rows that wait on a node; 4,096 by default."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Serve the version before further, by its number.")] = False,
    timeout: Annotated[float, option("--timeout", "SECONDS", "Wait at most so long until it serves.")] = 600.0,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Serve a version of a model on the nodes, in place of the version before.

    The version is loaded beside the present one, which answers until the new one
    serves on all its nodes; then it gets the label stable. If it cannot be
    loaded, nothing else changes. Options that are left out stay as the
    deployment before has them.

    \b
    Examples:
      tensorflow-ignite model deploy digits
      tensorflow-ignite model deploy digits:3 --replicas 2 --memory 2GiB
      tensorflow-ignite model deploy digits@canary --keep
      tensorflow-ignite model deploy digits --max-batch-rows 64
    """
    with session(context, address) as client:
        deployment = client.models.deploy(
            reference,
            replicas=_replicas(replicas),
            memory=_memory(memory),
            batches=_batches(
                max_rows=max_batch_rows, max_delay_millis=max_batch_delay, max_waiting_rows=max_waiting_rows
            ),
            keep_previous=keep,
            timeout=timeout,
        )
    if json_output:
        print_json(deployment.to_dict())
        return
    nodes = sum(process.number == deployment.current and process.state == "serving" for process in deployment.processes)
    print(f"{deployment.name}:{deployment.current} serves on {nodes} node{'' if nodes == 1 else 's'}")


def undeploy(context: typer.Context, name: Name, address: Address = None, json_output: Json = False) -> None:
    """Serve a model no longer: its processes end after the calls that they have.

    \b
    Examples:
      tensorflow-ignite model undeploy digits
    """
    with session(context, address) as client:
        client.models.undeploy(name)
    if json_output:
        print_json({"undeployed": name})
        return
    print(f"{name} is not served any more")


def _replicas(text: str) -> int | None:
    """The number of nodes; 0: all; None: it was not given."""
    if not text:
        return None
    if text == "all":
        return 0
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(
        f"{text!r} is no number of nodes. It is a number from 1 on, or all. Give one of them", param_hint="--replicas"
    )


def _memory(text: str) -> int | None:
    """The size in bytes; 0: no limit; None: it was not given."""
    if not text:
        return None
    if text == "none":
        return 0
    found = rates.parse(text)
    if found is None or not found.bytes_per_second:
        raise typer.BadParameter(
            f"{text!r} is no size. A size is a number with a unit, such as 500MB or 2GiB, or none. Give one of these",
            param_hint="--memory",
        )
    return found.bytes_per_second


def _batches(**given: float | None) -> BatchRule | None:
    """The rule with the numbers that were given; None: none was."""
    from tensorflow_ignite.models.deployments import BatchRule

    numbers: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return BatchRule(**numbers) if numbers else None


def _print_deployment(deployment: Deployment) -> None:
    print(f"\ndeployment {paint(escaped(deployment.name), 'bold')}")
    rule = deployment.batches
    facts = [
        ("current", str(deployment.current or "none")),
        ("loading", str(deployment.target or "")),
        ("previous", str(deployment.previous or "")),
        ("kept", ", ".join(map(str, deployment.kept))),
        ("replicas", str(deployment.replicas or "all")),
        ("memory", size(deployment.memory) if deployment.memory else ""),
        ("batches", f"{rule.max_rows:,} rows, {rule.max_delay_millis:g} ms; {rule.max_waiting_rows:,} rows may wait"),
        ("failed", f"{deployment.failed} {escaped(deployment.error)}" if deployment.failed else ""),
    ]
    for key, value in facts:
        if value:
            print(f"  {key + ':':<10}{value}")
    rows = [
        [
            str(process.number),
            short_id(process.node_id),
            process.state,
            str(process.restarts),
            age(process.started_at) if process.started_at else "-",
            escaped(process.error) or "-",
        ]
        for process in deployment.processes
    ]
    if rows:
        print(table(["VERSION", "NODE", "STATE", "RESTARTS", "AGE", "LAST FAILURE"], rows, elastic=("LAST FAILURE",)))


def _in_cluster(source: str, address: str) -> str:
    """The source, with the address of this command's cluster if it names files of the cluster without one."""
    prefix = "ignite:///"
    return f"ignite://{address}/{source[len(prefix) :]}" if source.startswith(prefix) else source


def _as_dict(version: ModelVersion) -> dict[str, Any]:
    return {
        "reference": version.reference,
        "name": version.name,
        "number": version.number,
        "labels": list(version.labels),
        "url": version.url,
        **version.to_json(),
    }


_COMMANDS: tuple[Callable[..., None], ...] = (add, ls, describe, label, rm, deploy, undeploy)
for _command in _COMMANDS:
    app.command()(_command)
