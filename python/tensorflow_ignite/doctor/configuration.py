"""Ignite's Spring XML file: whether nodes started with it run the service, and its ports and disks.

Imported files and placeholders are not resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tensorflow_ignite.doctor.finding import Finding, Step
from tensorflow_ignite.doctor.ports import PortRange, discovery_ranges
from tensorflow_ignite.errors import InvalidRequestError

_CONFIGURATION = Step("machine", "configuration")
_P = "{http://www.springframework.org/schema/p}"
_IGNITE = "org.apache.ignite.configuration.IgniteConfiguration"
_SERVICE = "org.apache.ignite.services.ServiceConfiguration"
_OURS = "io.tensorflowignite.TensorFlowService"
_REGION = "org.apache.ignite.configuration.DataRegionConfiguration"
_FILTER = "org.apache.ignite.util.AttributeNodeFilter"
_DISCOVERY = "org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi"
_CLIENTS = "org.apache.ignite.configuration.ClientConnectorConfiguration"


@dataclass(frozen=True)
class Configuration:
    """The content of a file; `fault` when it cannot be read.

    Attributes:
        path: The file.
        fault: Why it cannot be read; empty when it can.
        instances: How many beans of class IgniteConfiguration it has.
        services: For each bean of ours: the number of services on each node, and the class of its node filter.
        persistent: Whether a data region is kept on disk.
        own_region: Whether it has a data region for the project's own caches.
        discovery: The ports of this machine, and the addresses where nodes are looked for.
        thin_port: The port for Ignite's thin clients; None: not in the file.
    """

    path: str
    fault: str = ""
    instances: int = 0
    services: tuple[tuple[str, str], ...] = ()
    persistent: bool = False
    own_region: bool = False
    discovery: tuple[PortRange, ...] = ()
    thin_port: int | None = None


def read(path: str) -> Configuration:
    """Reads a file."""
    try:
        root = ElementTree.fromstring(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        return Configuration(path, fault=f"it cannot be read ({error.strerror})")
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        return Configuration(path, fault=f"it is no XML ({error})")
    services = [bean for bean in _beans(root, _SERVICE) if any(True for _ in _beans(bean, _OURS))]
    port = next((_value(bean, "port") for bean in _beans(root, _CLIENTS)), "")
    return Configuration(
        path,
        instances=sum(1 for _ in _beans(root, _IGNITE)),
        services=tuple((_value(bean, "maxPerNodeCount"), _class_of(bean, "nodeFilter")) for bean in services),
        persistent=any(_value(bean, "persistenceEnabled") == "true" for bean in root.iter()),
        own_region=any(_value(bean, "name") == "tensorflow-ignite" for bean in _beans(root, _REGION)),
        discovery=_discovery(root),
        thin_port=int(port) if port.isdigit() else None,
    )


def examine(config: Configuration) -> Iterator[Finding]:
    """Checks whether nodes that are started with the file run the service."""
    name = config.path
    if config.fault:
        text = f"{name}: {config.fault}. A node takes a Spring XML file"
        yield _CONFIGURATION.failed(text, "Correct the path or the file: --config")
        return
    if config.instances != 1:
        text = f"{name} has {config.instances} beans of class IgniteConfiguration. A node takes a file with one"
        yield _CONFIGURATION.failed(text, "Leave one in it; or ignore this when the file imports it")
        return
    if not config.services:
        yield _CONFIGURATION.warning(
            f"{name} names no bean {_OURS}. Ignite's own scripts start the service only from serviceConfiguration "
            "(tensorflow-ignite node adds it by itself)",
            "Copy the property serviceConfiguration from java/config/tensorflow-ignite.xml",
        )
        return
    for each_node, node_filter in config.services:
        if each_node != "1":
            text = f"{name}: maxPerNodeCount of the service is {each_node or 'not set'}. One runs on each node"
            yield _CONFIGURATION.failed(text, "Set maxPerNodeCount to 1")
            return
        if node_filter not in ("", _FILTER):
            text = f"{name}: the service's node filter is a {node_filter}. Every client would need that class to join"
            yield _CONFIGURATION.failed(text, f"Filter by an attribute of the nodes: {_FILTER}")
            return
    disk = "; it keeps data on disk, so the cluster must be activated once" if config.persistent else ""
    memory = "" if config.own_region else "; its files and jobs have no data region of their own (tensorflow-ignite)"
    yield _CONFIGURATION.ok(f"{name} starts one service on each node{disk}{memory}")


def _discovery(root: ElementTree.Element) -> tuple[PortRange, ...]:
    """The range that a node listens in, on loopback as its address is unknown, and the ranges of other machines."""
    found: list[PortRange] = []
    for bean in _beans(root, _DISCOVERY):
        first = _value(bean, "localPort") or "47500"
        length = _value(bean, "localPortRange") or "100"
        if first.isdigit() and length.isdigit():
            found.append(PortRange("127.0.0.1", int(first), int(first) + int(length)))
        for value in bean.iter():
            text = (value.text or "").strip()
            if _name(value) == "value" and ":" in text and not text.startswith(("127.", "localhost:")):
                try:
                    found += discovery_ranges(text)
                except InvalidRequestError:
                    continue  # a placeholder, or another list
    return tuple(found)


def _beans(element: ElementTree.Element, class_name: str) -> Iterator[ElementTree.Element]:
    return (bean for bean in element.iter() if _name(bean) == "bean" and bean.get("class") == class_name)


def _value(bean: ElementTree.Element, name: str) -> str:
    """The value of a bean's own property, in any of the three ways to write it."""
    for child in bean:
        if _name(child) == "property" and child.get("name") == name:
            nested = next((value.text for value in child if _name(value) == "value"), "")
            return (child.get("value") or nested or "").strip()
    return (bean.get(_P + name) or "").strip()


def _class_of(bean: ElementTree.Element, name: str) -> str:
    for child in bean:
        if _name(child) == "property" and child.get("name") == name:
            return next((inner.get("class", "") for inner in child if _name(inner) == "bean"), "")
    return ""


def _name(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
