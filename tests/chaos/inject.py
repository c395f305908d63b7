"""How each fault is made, and what is waited for before it is over."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import psutil
from disk import full
from faults import DELAY_SECONDS, FREEZE_SECONDS, LOSS, SLOW_SECONDS, STARVE_SECONDS, Action
from network import PORT, Machine
from shared_cluster import LIMIT, UNAVAILABLE
from waiting import await_true

if TYPE_CHECKING:
    from trial import Trial


def _kill(trial: Trial) -> None:
    if trial.fault.nodes == 4:
        _kill_two(trial)
    elif trial.fault.target == "agent and node":
        _kill_agent_and_node(trial)
    else:
        _signal(trial, signal.SIGKILL)


def _signal(trial: Trial, number: signal.Signals) -> None:
    """Sends a signal to the target, and waits for what follows from it."""
    target = trial.fault.target
    machine = trial.target()
    if target in ("worker", "ps", "client"):
        task = trial.task(target)
        pid = task.status.pid
    else:
        task = None
        pid = trial.shared.agent(machine) if target == "agent" else machine.process.pid
    assert pid is not None
    is_node = target in ("node", "service node")
    if is_node:
        trial.follow([other for other in trial.machines if other is not machine])
    trial.note(f"signal {number.name} to process {pid} of {task.name if task else machine.name}")
    os.kill(pid, number)
    if number == signal.SIGSTOP:
        # The fault is this duration: what the cluster does meanwhile, and what the process does afterwards.
        time.sleep(FREEZE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    elif is_node:
        trial.network.await_ended(machine)
    if trial.fault.expected.replaced:
        assert task is not None
        trial.await_replaced(task)
    if number == signal.SIGSTOP and is_node:
        _await_segmented(trial, machine)


def _await_segmented(trial: Trial, machine: Machine) -> None:
    """A node that the others have given up ends itself when it goes on; its machine then has no node."""
    others = [other for other in trial.machines if other is not machine]
    if machine.node_id not in others[0].process.known_nodes:
        trial.network.await_ended(machine)


def _kill_agent_and_node(trial: Trial) -> None:
    machine = trial.target()
    agent = trial.shared.agent(machine)
    trial.follow([other for other in trial.machines if other is not machine])
    os.kill(agent, signal.SIGKILL)
    trial.network.kill(machine)


def _kill_two(trial: Trial) -> None:
    oldest, *younger = trial.machines
    first = trial.choice % len(younger)
    if trial.fault.target == "two younger nodes":
        victims = [machine for number, machine in enumerate(younger) if number != first]
    else:
        victims = [oldest, younger[first]]
    left = [machine for machine in trial.machines if machine not in victims]
    trial.follow(left)
    trial.network.kill(*victims)
    if trial.fault.expected.waits:
        trial.await_waiting()
        trial.network.start(*victims)


def _memory(trial: Trial) -> None:
    target = trial.fault.target
    if target in ("worker", "client"):
        # The script itself exceeds the limit of a task.
        task = trial.task(target)
        (trial.folder / f"grow-1-{task.role}-{task.index}").touch()
        if trial.fault.expected.replaced:
            trial.await_replaced(task)
        return
    machine = trial.target()
    trial.follow([other for other in trial.machines if other is not machine])
    pid = {
        "ps": lambda: trial.task("ps").status.pid,
        "agent": lambda: trial.shared.agent(machine),
        "node": lambda: machine.process.pid,
    }[target]()
    process = psutil.Process(pid)
    limits = process.rlimit(psutil.RLIMIT_DATA)
    trial.note(f"process {pid} gets no more memory")
    process.rlimit(psutil.RLIMIT_DATA, (process.memory_info().data, limits[1]))
    time.sleep(STARVE_SECONDS)
    with contextlib.suppress(psutil.NoSuchProcess):
        process.rlimit(psutil.RLIMIT_DATA, limits)


def _disk(trial: Trial) -> None:
    machine = trial.target()
    with full(machine.directory):
        trial.until(lambda job: job.state == "restarting" or len(job.attempts) > 1, "a full disk stops no task")


def _join(trial: Trial) -> None:
    machine = next((each for each in trial.network.machines if not each.runs), None) or trial.network.add()
    trial.network.start(machine)


def _restart(trial: Trial) -> None:
    for machine in trial.machines:
        trial.network.stop(machine)
        trial.network.start(machine)
        trial.shared.make_whole(len(trial.machines))
        trial.until(lambda job: job.state == "running", f"the job does not run after {machine.name} has restarted")


def _cut(trial: Trial) -> None:
    sides, how = trial.fault.target.split()
    oldest, *younger = trial.machines
    first = trial.choice % len(younger)
    near = {
        # The side that goes on comes first: that of more nodes, or of the oldest one.
        "2|2": [oldest, younger[first]],
        "2|1": [oldest, younger[first]],
        "1|2": younger,
    }[sides]
    far = [machine for machine in trial.machines if machine not in near]
    trial.network.cut(near, far, "reject" if how == "reject" else "drop")
    cut_at = time.monotonic()
    trial.follow(near)
    trial.await_progress(2)
    with trial.shared.client(far) as client:

        def waits() -> bool:
            with contextlib.suppress(*UNAVAILABLE):
                job = client.job(trial.id).status
                return job.state == "restarting" and f"quorum accept {trial.id}" in job.waiting_for
            return False

        await_true(waits, "the smaller side does not say that the job waits for a majority", seconds=LIMIT)
    warned = far[0].run("nodes").stderr
    assert "majority" in warned, f"`nodes` does not say that its side has no majority: {warned}"
    trial.note(f"both sides are as expected {time.monotonic() - cut_at:.1f} s after the cut")
    trial.network.heal()
    trial.shared.restart(far)


def _one_way(trial: Trial) -> None:
    alone = trial.target()
    others = [machine for machine in trial.machines if machine is not alone]
    sides = (others, [alone]) if trial.fault.target == "to" else ([alone], others)
    trial.network.cut(*sides, one_way=True)
    _await_one_side(trial)
    trial.network.heal()
    _await_one_side(trial)
    whole = frozenset(machine.node_id for machine in trial.machines)
    # Nodes that have lost each other do not join again: those of the smaller side are started anew.
    outside = [
        machine
        for machine in trial.machines
        if not machine.runs or len(machine.process.known_nodes & whole) <= len(whole) // 2
    ]
    trial.note(f"outside: {[machine.name for machine in outside]}")
    if outside:
        trial.follow([machine for machine in trial.machines if machine not in outside])
        trial.await_progress(2)
        trial.shared.restart(outside)


def _await_one_side(trial: Trial) -> None:
    """Waits until more than half of the nodes see exactly each other, and has given the cut time to be noticed."""
    time.sleep(SLOW_SECONDS)

    def agrees() -> bool:
        sides: dict[frozenset[str], int] = defaultdict(int)
        for machine in trial.network.running:
            sides[machine.process.known_nodes] += 1
        return any(count == len(ids) > len(trial.machines) // 2 for ids, count in sides.items())

    await_true(agrees, "no side has a majority", seconds=LIMIT)


def _slow(trial: Trial) -> None:
    delay, loss = (DELAY_SECONDS, 0.0) if trial.fault.target == "delay" else (0.0, LOSS)
    machine = trial.target()
    trial.network.slow(machine, delay, loss)
    begin = time.monotonic()
    with socket.create_connection((machine.host, PORT), timeout=LIMIT):
        # The answer to a connection is delayed.
        assert time.monotonic() - begin >= delay
    time.sleep(SLOW_SECONDS)
    lost = trial.network.heal()
    trial.note(f"{lost} packets were lost")
    assert (lost > 0) == (loss > 0)


#: What each action does.
ACTIONS: dict[Action, Callable[[Trial], None]] = {
    "kill": _kill,
    "freeze": partial(_signal, number=signal.SIGSTOP),
    "terminate": partial(_signal, number=signal.SIGTERM),
    "memory": _memory,
    "disk": _disk,
    "join": _join,
    "restart": _restart,
    "cut": _cut,
    "one-way": _one_way,
    "slow": _slow,
}
