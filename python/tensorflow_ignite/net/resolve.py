"""Addresses and credentials of calls: one order of sources for the client, datasets and files.

The order: the argument of a call; in a task of a job, the node of the task and the task's token; the environment; a
profile. The first source with a value decides.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import ConnectionFailedError
from tensorflow_ignite.net import profile, sockets
from tensorflow_ignite.net.addresses import (
    ADDRESS_VARIABLE,
    DEFAULT_ADDRESS,
    DEFAULT_PORT,
    THIN_PORT,
    parse_addresses,
)
from tensorflow_ignite.net.credentials import (
    Credentials,
    from_argument,
    from_dataset_environment,
    from_environment,
    of_task,
)

SECONDS_TO_CONNECT = 5.0
#: The credentials of a client process outside the cluster, and their node.
_adopted: tuple[Credentials, str] | None = None
_HOST_VARIABLE, _PORT_VARIABLE = "IGNITE_DATASET_HOST", "IGNITE_DATASET_PORT"


def resolve(address: str | None = None, *, data: bool = False, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The nodes that may be called.

    Args:
        address: The argument of the call, ``"host:port[,host:port]"``. None: in a task of a job, the node that it runs
            beside; else TENSORFLOW_IGNITE_ADDRESS; else the address of the profile; else ``localhost:10820``.
        data: The call is for rows: IGNITE_DATASET_HOST and IGNITE_DATASET_PORT are used too, before the profile.
        env: The environment.

    Returns:
        One ``"host:port"`` for each, in the given order.

    Raises:
        InvalidRequestError: The first source with a value is malformed.
        TensorFlowIgniteError: The context file of this task cannot be read.
    """
    if address is not None:
        return parse_addresses(address)
    here = task.current()
    if here.node_address:
        return parse_addresses(here.node_address)
    if env.get(ADDRESS_VARIABLE):
        return parse_addresses(env[ADDRESS_VARIABLE], source=ADDRESS_VARIABLE)
    if data and (env.get(_HOST_VARIABLE) or env.get(_PORT_VARIABLE)):
        return _of_dataset_environment(env, DEFAULT_PORT)
    chosen = profile.load(env=env)
    return parse_addresses((chosen.address if chosen else None) or DEFAULT_ADDRESS)


def thin_addresses(address: str | None, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Returns addresses of thin client ports, each as ``host:port``; the default port is 10800.

    The argument decides, else IGNITE_DATASET_HOST and IGNITE_DATASET_PORT. Else these are the hosts of `resolve`, with
    the thin clients' port instead of the service's port: both protocols read the same cluster.

    Raises:
        InvalidRequestError: The address is malformed.
    """
    if address:
        return parse_addresses(address, THIN_PORT)
    if env.get(_HOST_VARIABLE):
        return _of_dataset_environment(env, THIN_PORT)
    port = env.get(_PORT_VARIABLE) or str(THIN_PORT)
    hosts = (node.rpartition(":")[0] for node in resolve(env={**env, _PORT_VARIABLE: ""}))
    return parse_addresses(",".join(f"{host}:{port}" for host in dict.fromkeys(hosts)), THIN_PORT)


def _of_dataset_environment(env: Mapping[str, str], port: int) -> tuple[str, ...]:
    address = f"{env.get(_HOST_VARIABLE) or 'localhost'}:{env.get(_PORT_VARIABLE) or port}"
    return parse_addresses(address, port, source=f"{_HOST_VARIABLE} with {_PORT_VARIABLE}")


def node(address: str | None) -> str:
    """Returns the node that is called for rows: the first address of `resolve` that answers.

    A task of a job always calls the node that it runs beside; its script's argument is for runs outside a job.

    Raises:
        InvalidRequestError: An address is malformed.
        ConnectionFailedError: None of several nodes answers.
    """
    here = task.current()
    return here.node_address if here.in_job else first_answering(resolve(address or None, data=True))


def first_answering(candidates: Sequence[str]) -> str:
    """Returns the first address where a node answers; a single address is not tried.

    The system accepts connections for a node that is frozen, so a connection alone is no answer.

    Raises:
        ConnectionFailedError: None of several nodes answers.
    """
    if len(candidates) == 1:
        return candidates[0]
    failures = []
    for candidate in candidates:
        try:
            sockets.await_answer(candidate, SECONDS_TO_CONNECT)
        except OSError as error:
            failures.append(f"{candidate} ({error})")
        else:
            return candidate
    raise ConnectionFailedError(
        f"no node answers at {', '.join(failures)}. Each has {SECONDS_TO_CONNECT:.0f} s to accept a connection "
        f"and as long to answer. Check that a node runs and give its address: address=, or {ADDRESS_VARIABLE}=HOST:PORT"
    )


def adopt(credentials: Credentials | None, address: str) -> None:
    """Makes all calls to a node use credentials, as the calls of a task use its token.

    Args:
        credentials: Credentials of the calls; None: as without this call.
        address: ``host:port`` of the node; empty: no node any more.
    """
    global _adopted
    _adopted = (credentials, address) if credentials is not None and address else None


def find_credentials(
    value: Any, addresses: Sequence[str], *, data: bool = False, env: Mapping[str, str] = os.environ
) -> Credentials | None:
    """Returns the credentials of calls to nodes; None: no credentials, and no TLS.

    Args:
        value: The argument of the call. None: in a task of a job, for calls to its own cluster, the task's token; else
            the environment; else a profile.
        addresses: ``"host:port"`` of the nodes that are called first; these nodes may name further ones.
        data: The call is for rows: IGNITE_DATASET_USERNAME and the like are used too, before the profile.
        env: The environment.

    Raises:
        InvalidRequestError: The first source with a value is malformed.
    """
    found = from_argument(value)
    if found is not None:
        return found
    if _adopted is not None and _adopted[1] in addresses:
        return _adopted[0]
    in_task = bool(env.get(task.CONTEXT_VARIABLE))
    if in_task:
        token, node_address = task.task_token()
        if token and node_address in addresses:
            return of_task(token, env)
    found = from_environment(env) or (from_dataset_environment(env) if data else None)
    # A job must not use profiles of the user who started the node.
    if found is not None or (in_task and not env.get(profile.PROFILES_VARIABLE)):
        return found
    chosen = profile.load(env=env)
    return chosen.credentials_for(addresses) if chosen else None
