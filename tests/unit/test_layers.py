"""The package's modules stand in the layers that ARCHITECTURE.md lists: no circle, no arrow upwards, no stray API.

Every import counts: those inside functions, those for type checking, and `importlib.import_module` of a name that is
written in the module. A package that is imported on the way to a module inside it does not count.

Promise (code): A Python module imports no higher layer and no circle, and a pure one uses no gRPC, socket, clock or
thread.
Promise (code): Only `net.channels` makes gRPC channels and Flight clients, and only `net.sockets` opens TCP
connections.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "tensorflow_ignite"
LIST = "the list of layers in ARCHITECTURE.md"
# Part of Python: types that exist for type checkers only.
STUBS = {"_typeshed"}
# The modules of Python itself that count as foreign APIs: they reach other hosts.
NETWORK = {"ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib"}
# Modules that import one whose name is not written beside the call: the public names, which are in a table; changes of
# Keras, which tensorflow_ignite.train makes after Keras is imported; spares; and the import hook.
COMPUTED = {"", "agent.spare_process", "base.after_import", "corrections"}
IMPURE = {
    "_thread",
    "asyncio",
    "concurrent",
    "grpc",
    "multiprocessing",
    "sched",
    "signal",
    "threading",
    "time",
    *NETWORK,
}
CLOCKS = {"now", "today", "utcnow"}
# What opens a connection, by the name that is called, and the line of the list that says where.
CONNECTIONS = {
    "channels": {"insecure_channel", "secure_channel", "FlightClient"},
    "sockets": {"create_connection", "open_connection", "open_unix_connection", "connect_ex", "urlopen"},
    "ports": {"socket.socket", "create_server", "start_server"},
    "thin": {"pyignite.Client", "pyignite.AioClient", "pyignite.client.Client", "pyignite.aio_client.AioClient"},
}


@dataclass(frozen=True)
class Layers:
    """What ARCHITECTURE.md says."""

    apis: dict[str, set[str]]
    only: dict[str, set[str]] = field(default_factory=dict)
    pure: set[str] = field(default_factory=set)
    makers: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Layers:
        """Reads the list, a table and lines that begin with a dash, between its two markers."""
        found = re.search(r"<!-- layers: python -->\n(.*?)<!-- end of the layers: python -->", text, re.DOTALL)
        assert found, "ARCHITECTURE.md has no list of layers of Python between two markers"
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[1].splitlines() if line[:1] == "|"]
        apis = {_names(layer)[0]: _names(foreign) for layer, _, foreign in rows[2:]}
        lines = dict(item.split(": ", 1) for item in re.findall(r"^- ((?:.+\n)(?:  .+\n)*)", found[1], re.MULTILINE))
        return cls(
            {layer: set(names) for layer, names in apis.items()},
            {_names(said)[0]: set(_names(names)) for said, names in lines.items() if said.endswith("imports only")},
            set(_names(lines["Pure, without gRPC, sockets, clocks and threads"])),
            {
                "channels": set(_names(lines["gRPC channels and Flight clients are made by"])),
                "sockets": set(_names(lines["TCP connections are opened by"])),
                "ports": set(_names(lines["sockets that listen, or test whether a port is free, are made by"])),
                "thin": set(_names(lines["clients of Ignite's thin port are made by"])),
            },
        )

    def of(self, module: str) -> str | None:
        """The layer of a module: the longest name in the list that it is, or is inside; None: it has none."""
        if not module:
            return "" if "" in self.apis else None
        parts = module.split(".")
        return next((name for k in range(len(parts), 0, -1) if (name := ".".join(parts[:k])) in self.apis), None)

    def allows(self, importing: str, imported: str) -> bool:
        """Whether a layer may import from another."""
        order = list(self.apis)
        if importing == imported:
            return True
        return imported in self.only.get(importing, order[: order.index(importing)])


def _names(text: str) -> list[str]:
    """Names in backticks; `tensorflow_ignite` is the package itself, whose name among its modules is empty."""
    return ["" if name == PACKAGE else name for name in re.findall(r"`([\w.]+)`", text)]


@dataclass
class Module:
    """What one source says."""

    ours: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, int]] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)


def read(sources: dict[str, str]) -> dict[str, Module]:
    """The modules of a package, by their names below it; its own name is empty."""
    return {name: _read(name, ast.parse(source), set(sources)) for name, source in sources.items()}


def _read(name: str, tree: ast.Module, modules: set[str]) -> Module:
    found, local = Module(), {}
    texts = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def add(whole: str, line: int) -> None:
        top, _, below = whole.partition(".")
        if top != PACKAGE:
            found.foreign.setdefault(whole, line)
            return
        while below not in modules:
            below = below.rpartition(".")[0]
        found.ours.setdefault(below, line)

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name, node.lineno)
                local[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name or PACKAGE}:{node.lineno} imports relatively; write the whole name"
            for alias in node.names:
                add(f"{node.module}.{alias.name}", node.lineno)
                local[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = _dotted(node.func, local)
        found.calls.append((called, node.lineno))
        if called.rpartition(".")[2] in ("import_module", "__import__", "resolve_name", "exec", "eval"):
            written = [_written(each, texts) for each in (node.args or [key.value for key in node.keywords])[:1]]
            for text in written[0] if written else [None]:
                if text is None or called.endswith(("exec", "eval")):
                    found.computed.append(node.lineno)
                else:
                    add(text, node.lineno)
    return found


def _written(node: ast.expr, texts: dict[str, str]) -> list[str | None]:
    """The texts that an argument may have; None: one that is not written there."""
    if isinstance(node, ast.IfExp):
        return [*_written(node.body, texts), *_written(node.orelse, texts)]
    text = texts.get(node.id) if isinstance(node, ast.Name) else getattr(node, "value", None)
    return [text if isinstance(text, str) else None]


def _dotted(node: ast.expr, local: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, local)}.{node.attr}"
    return local.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def faults(modules: dict[str, Module], layers: Layers) -> Iterator[str]:
    """What breaks a rule: the file, the rule, and what to do."""
    for name in sorted(layers.pure.union(*layers.makers.values())):
        if name not in modules:
            yield f"{LIST} names {name}, and there is no such module. Correct the name there"
    for name, module in sorted(modules.items()):
        layer = layers.of(name)
        if layer is None:
            yield f"{_file(name)} is in no layer. Each module is in one of {LIST}. Move it into one, or add a line"
            continue
        yield from _arrows(name, layer, module, layers)
        yield from _apis(name, layer, module, layers)
        yield from _connections(name, module, layers)
        for line in module.computed if name not in COMPUTED else ():
            yield f"{_file(name)}:{line} imports a module by a name that is not written there. Write the name as a text"
        if name in layers.pure:
            yield from _impurities(name, module, layers)
    for circle in circles({name: set(module.ours) for name, module in modules.items()}):
        yield (
            f"{' -> '.join(map(_file, circle))} is a circle. No module imports itself through others. Move what both "
            "need into a module below them"
        )


def _file(name: str) -> str:
    return f"{PACKAGE}/{name.replace('.', '/')}" if name else PACKAGE


def _arrows(name: str, layer: str, module: Module, layers: Layers) -> Iterator[str]:
    for imported, line in module.ours.items():
        below = layers.of(imported)
        if below is None or layers.allows(layer, below):
            continue
        allowed = ", ".join(sorted(layers.only[layer])) if layer in layers.only else "the lines before it"
        yield (
            f"{_file(name)}:{line} imports {imported or PACKAGE}. The layer {layer} imports only {allowed} of {LIST}. "
            f"Pass the value as an argument, or move the imported code into a lower layer"
        )


def _apis(name: str, layer: str, module: Module, layers: Layers) -> Iterator[str]:
    for imported, line in module.foreign.items():
        top = imported.partition(".")[0]
        if top in STUBS | (sys.stdlib_module_names - NETWORK):
            continue
        api = "pyarrow.flight" if imported.startswith("pyarrow.flight") else top
        if api in layers.apis[layer]:
            continue
        places = [other or PACKAGE for other, apis in layers.apis.items() if api in apis]
        yield (
            f"{_file(name)}:{line} imports {api}. By {LIST} it is for {', '.join(places) or 'no layer'}. Call what "
            "these offer"
        )


def _connections(name: str, module: Module, layers: Layers) -> Iterator[str]:
    for called, line in module.calls:
        for kind, openers in CONNECTIONS.items():
            opens = any(called == opener or called.endswith(f".{opener}") for opener in openers)
            makers = layers.makers.get(kind, set())
            if opens and name not in makers:
                yield (
                    f"{_file(name)}:{line} calls {called}. Connections of this kind are made by "
                    f"{', '.join(sorted(makers)) or 'nobody'} alone ({LIST}). Call that module"
                )


def _impurities(name: str, module: Module, layers: Layers) -> Iterator[str]:
    remedy = f"{LIST} calls the module pure. Pass the value as an argument"
    for imported, line in module.foreign.items():
        if imported.partition(".")[0] in IMPURE:
            yield f"{_file(name)}:{line} imports {imported}. {remedy}"
    for imported, line in module.ours.items():
        if imported not in layers.pure and not imported.startswith("v1"):
            yield f"{_file(name)}:{line} imports {imported}, which is not pure. {remedy}, or list that one as pure too"
    for called, line in module.calls:
        if called.rpartition(".")[2] in CLOCKS and "." in called:
            yield f"{_file(name)}:{line} reads the clock by {called}. {remedy}"


def circles(arrows: dict[str, set[str]]) -> Iterator[list[str]]:
    """One circle for each set of modules that reach each other, as the modules on it."""
    seen: set[str] = set()
    for start in sorted(arrows):
        if start in seen:
            continue
        # The shortest way from a module back to itself.
        before: dict[str, str] = {}
        waiting = [start]
        while waiting and start not in before:
            module = waiting.pop(0)
            for imported in sorted(arrows.get(module, ())):
                if imported not in before:
                    before[imported] = module
                    waiting.append(imported)
        if start in before:
            circle = [start, before[start]]
            while circle[-1] != start:
                circle.append(before[circle[-1]])
            seen.update(circle)
            yield circle[::-1]


@functools.cache
def _package() -> dict[str, Module]:
    folder = ROOT / "python" / PACKAGE
    found = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return read(found)


def test_modules_stand_in_the_layers_that_the_architecture_lists() -> None:
    layers = Layers.parse((ROOT / "ARCHITECTURE.md").read_text())
    modules = _package()
    assert len(modules) > 150
    found = list(faults(modules, layers))
    assert not found, "\n".join(found)


def test_every_layer_that_the_architecture_lists_has_modules_and_uses_its_apis() -> None:
    layers = Layers.parse((ROOT / "ARCHITECTURE.md").read_text())
    modules = _package()
    for layer, apis in layers.apis.items():
        own = [module for name, module in modules.items() if layers.of(name) == layer]
        assert own, f"{LIST} has {layer}, and there is no such module. Take the line out"
        used = {name for module in own for name in module.foreign}
        idle = {api for api in apis if not any(f"{name}.".startswith(f"{api}.") for name in used)}
        assert not idle, f"{LIST} lets {layer} import {sorted(idle)}, which it does not. Take it out"
