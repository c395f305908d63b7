"""What the figures are to reach, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MEGABYTES = "MB/s"
ROWS = "rows/s"


@dataclass(frozen=True)
class Goal:
    """A figure is to be at least another one times a factor; never more than `at_most` is required."""

    figure: str
    factor: float
    of: str
    at_most: float = float("inf")

    def required(self, figures: Mapping[str, float]) -> float | None:
        """What the figure is to reach; None when the other was not measured."""
        return min(self.factor * figures[self.of], self.at_most) if self.of in figures else None


READ_GOALS = (
    Goal("local_1mb", 0.6, "bound_1mb"),
    Goal("local_1mb", 1.3, "tfrecord_1mb"),
    Goal("local_1mb", 30, "pyignite_1mb"),
    Goal("local_small", 0.6, "bound_small"),
    Goal("local_small", 1.5, "tfrecord_small"),
    Goal("local_small", 50, "pyignite_small"),
    Goal("later_1mb", 1.2, "ray_1mb"),
    Goal("later_small", 2, "ray_small"),
    Goal("remote_1mb", 0.4, "tcp", at_most=1_000),
    Goal("load_1mb", 5, "pyignite_put_1mb"),
    Goal("load_small", 5, "pyignite_put_small"),
    Goal("load_small_table", 5, "pyignite_put_small_table"),
)

STORAGE_GOALS = (
    Goal("restore", 0.5, "local_restore", at_most=600),
    Goal("restore_backup", 0.5, "local_restore", at_most=600),
    Goal("save", 1, "pyignite_put"),
    Goal("save_backup", 1, "pyignite_put_backup"),
)


@dataclass(frozen=True)
class Limit:
    """A figure is to be at most another one, multiplied and with something added; without another one, a number."""

    figure: str
    factor: float
    of: str
    plus: float = 0.0

    def most(self, figures: Mapping[str, float]) -> float | None:
        """The most that the figure may be; None when one of the two was not measured."""
        if not {self.figure, self.of or self.figure} <= figures.keys():
            return None
        return self.factor * figures[self.of] + self.plus if self.of else self.plus

    def __str__(self) -> str:
        """The rule, such as ``1 x stock + 0.85``."""
        if not self.of:
            return f"{self.plus:g}"
        return f"{self.factor:g} x {self.of}" + (f" + {self.plus:g}" if self.plus else "")


# Figures that have a number for each number of workers or nodes are named with it.
RECOVERY_LIMITS = (
    *(Limit(f"submit_to_step_seconds {workers}", 1, f"floor_seconds {workers}") for workers in (2, 3)),
    *(Limit(f"recover_{what}_seconds", 1, "floor_seconds 2") for what in ("worker", "node")),
    Limit("submit_to_step_seconds 2", 0.5, "ray_submit_to_step_seconds"),
    *(Limit(f"recover_{what}_seconds", 0.5, "ray_recover_seconds") for what in ("worker", "node")),
    Limit("idle_cpu_percent 3", 1, "stock_cpu_percent 3", plus=0.85),
    Limit("running_job_cpu_percent 3", 0, "", plus=1.0),
    # Of each node: 1.25 times as many in a cluster of three times as many nodes.
    Limit("packets_per_second 9", 3.75, "packets_per_second 3"),
)


LIVE_LIMITS = (
    Limit("oltp_p99_training_ms", 2, "oltp_p99_idle_ms"),
    Limit("put_to_step_p99_seconds", 0, "", plus=2.0),
    Limit("refresh_1_percent_seconds", 0.1, "full_epoch_seconds"),
)
# The least part of the processors that the application leaves free, and of the rate of a writer without a follower.
LIVE_LEAST = {"training_share": 0.5, "writer_share": 0.95}


# What an epoch of a job may need, by that of a training by hand.
TRAINING_EPOCHS = {"": 0.95, "_images": 0.95, "_table": 0.6}
TRAINING_LIMITS = tuple(
    limit
    for suffix, factor in TRAINING_EPOCHS.items()
    for limit in (
        Limit(f"job_epoch{suffix}", factor, f"by_hand_epoch{suffix}"),
        Limit(f"job_epoch{suffix}", 1, f"ray_epoch{suffix}"),
        Limit(f"job_first{suffix}", 1, f"by_hand_files_first{suffix}"),
        Limit(f"job_first{suffix}", 0.5, f"by_hand_first{suffix}"),
    )
)

PREDICT_GOALS = (
    Goal("batch_rows", 1, "by_hand_rows"),
    Goal("batch_rows", 2, "ray_data_rows"),
    Goal("online_peak", 2, "ray_serve_peak"),
)
PREDICT_LIMITS = (
    Limit("online_p99_ms", 0.5, "ray_serve_p99_ms"),
    Limit("rollover_failed", 0, ""),
    Limit("rollover_p99_ms", 3, "rollover_before_p99_ms"),
)


def unit(figure: str) -> str:
    """Small rows are counted, everything else is weighed."""
    return ROWS if "small" in figure else MEGABYTES


def verdicts(figures: Mapping[str, float], goals: Sequence[Goal] = READ_GOALS) -> list[dict[str, object]]:
    """For each goal whose figures were measured: the required figure, the measured one, and whether that is enough."""
    found: list[dict[str, object]] = []
    for goal in goals:
        required = goal.required(figures)
        if required is not None and goal.figure in figures:
            has = figures[goal.figure]
            found.append(
                {
                    "figure": goal.figure,
                    "of": goal.of,
                    "required": required,
                    "ratio": has / figures[goal.of],
                    "factor": goal.factor,
                    "reached": has >= required,
                }
            )
    return found


def table(figures: Mapping[str, float], passes: Mapping[str, list[float]], goals: Sequence[Goal] = READ_GOALS) -> str:
    """Figures with the spread of their passes, then the goals, as text for people."""
    lines = [f"{'figure':<22} {'median':>12} {'lowest':>12} {'highest':>12}"]
    for name, median in figures.items():
        low, high = min(passes[name]), max(passes[name])
        lines.append(f"{name:<22} {median:>12,.0f} {low:>12,.0f} {high:>12,.0f} {unit(name)}")
    lines += ["", f"{'goal':<40} {'required':>12} {'is':>12} {'ratio':>8}"]
    for verdict in verdicts(figures, goals):
        goal = f"{verdict['figure']} >= {verdict['factor']:g} x {verdict['of']}"
        reached = "reached" if verdict["reached"] else "missed"
        is_now = figures[str(verdict["figure"])]
        lines.append(f"{goal:<40} {verdict['required']:>12,.0f} {is_now:>12,.0f} {verdict['ratio']:>8.2f} {reached}")
    return "\n".join(lines)


def limit_verdicts(figures: Mapping[str, float], limits: Sequence[Limit] = RECOVERY_LIMITS) -> list[dict[str, object]]:
    """For each limit whose figures were measured: what it is, and whether the figure keeps it."""
    return [
        {
            "figure": limit.figure,
            "of": limit.of,
            "factor": limit.factor,
            "plus": limit.plus,
            "most": most,
            "reached": figures[limit.figure] <= most,
        }
        for limit in limits
        if (most := limit.most(figures)) is not None
    ]


def limit_table(
    figures: Mapping[str, float], passes: Mapping[str, list[float]], limits: Sequence[Limit] = RECOVERY_LIMITS
) -> str:
    """Figures with the spread of their passes and, beside each, its limits, in 80 columns; one line for each limit."""
    lines = [f"{'figure':<26} {'median':>6} {'low':>6} {'high':>6} {'goal':>6}"]
    for name, median in figures.items():
        shown = " ".join([f"{name:<26}", *(_number(each) for each in (median, min(passes[name]), max(passes[name])))])
        found = [
            (limit, most) for limit in limits if limit.figure == name and (most := limit.most(figures)) is not None
        ]
        for limit, most in found:
            lines.append(f"{shown:<47} {_number(most)} {'reached' if median <= most else 'missed':<7} {_short(limit)}")
            shown = ""
        if not found:
            lines.append(shown)
    return "\n".join(lines)


def _number(value: float) -> str:
    """In six letters."""
    return f"{value:>6.2f}" if abs(value) < 100 else f"{value:>6.0f}"


def _short(limit: Limit) -> str:
    """The rule in at most 17 letters."""
    short = str(limit).removeprefix("1 x ")
    for long in ("_seconds", "_cpu_percent", "_per_second", "_to_step", "_images", "_table", "_epoch", "_first"):
        short = short.replace(long, "")
    return short.replace("rollover_", "")
