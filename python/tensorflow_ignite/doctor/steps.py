"""The steps of the doctor, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorflow_ignite.base import system
from tensorflow_ignite.doctor import configuration, interpreter, java, ports, resources
from tensorflow_ignite.doctor.finding import Finding, Section, Step
from tensorflow_ignite.net.addresses import parse_addresses
from tensorflow_ignite.net.resolve import resolve

_DEFAULT_THIN_PORT = 10800


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to examine.

    Attributes:
        sections: The sections whose steps are taken.
        config: A Spring XML file that nodes of this machine are started with; None: none.
        host: The address that a node here would bind; None: its own setting, else loopback.
        port: The port or range of the node API; None: the node's own setting, else ``"10820..10919"``.
        discovery: The addresses of the cluster's nodes, as for the option of a node; None: as in config.
        python: The interpreter that runs tasks; None: the node's own setting, else this one.
        deep: Import TensorFlow, which takes seconds, instead of only checking whether it is installed.
        address: ``"host:port[,host:port]"`` of nodes; None: as for every command.
        thin: ``"host:port"`` for Ignite's thin clients; None: config's port, else 10800, on the first node's host.
        timeout: Seconds for each call.
        credentials: The caller's credentials; None: from the environment or a profile.
    """

    sections: tuple[Section, ...] = ("machine", "cluster")
    config: str | None = None
    host: str | None = None
    port: str | None = None
    discovery: str | None = None
    python: str | None = None
    deep: bool = False
    address: str | None = None
    thin: str | None = None
    timeout: float = 5.0
    credentials: Any = None


def examine(request: Request) -> Iterator[Finding]:
    """Takes the steps one after the other.

    Raises:
        InvalidRequestError: An address, port or range cannot be read.
    """
    addresses = resolve(request.address)
    thin = _thin_address(request.thin) if request.thin else None
    api_ports = ports.api_ports(request.port)
    discovery = ports.discovery_ranges(request.discovery)
    config = configuration.read(request.config) if request.config else None
    if "machine" in request.sections and not system.IS_LINUX:
        yield Step("machine", "system").ok(f"{system.NAME}: this machine is a client. Nodes and tasks need Linux")
    elif "machine" in request.sections:
        yield java.examine_java()
        yield java.examine_jars()
        yield from interpreter.examine(request.python, deep=request.deep)
        if config is not None:
            yield from configuration.examine(config)
        yield ports.examine_api(request.host, api_ports)
        yield from ports.examine_discovery(discovery or (config.discovery if config else ()))
        yield from resources.examine()
    if "cluster" in request.sections:
        # Imported here: the steps of the machine must work where gRPC is missing.
        from tensorflow_ignite.doctor import cluster

        if thin is None:
            port = config.thin_port if config and config.thin_port else _DEFAULT_THIN_PORT
            thin = (addresses[0].rpartition(":")[0].strip("[]"), port)
        yield from cluster.examine(addresses, thin, timeout=request.timeout, credentials=request.credentials)


def _thin_address(text: str) -> tuple[str, int]:
    host, _, port = parse_addresses(text if ":" in text else f"{text}:{_DEFAULT_THIN_PORT}")[0].rpartition(":")
    return host.strip("[]"), int(port)
