"""What the figures are to reach, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MEGABYTES = "MB/s"
ROWS = "rows/s"


@dataclass(frozen=True)
class Goal:
    """A figure is to be at least so many times another; never more than `at_most` is asked for."""

    figure: str
    factor: float
    of: str
    at_most: float = float("inf")

    def wanted(self, figures: Mapping[str, float]) -> float | None:
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


def unit(figure: str) -> str:
    """Small rows are counted, everything else is weighed."""
    return ROWS if "small" in figure else MEGABYTES


def verdicts(figures: Mapping[str, float], goals: Sequence[Goal] = READ_GOALS) -> list[dict[str, object]]:
    """For each goal whose figures were measured: what was wanted, what there is, and whether that is enough."""
    found: list[dict[str, object]] = []
    for goal in goals:
        wanted = goal.wanted(figures)
        if wanted is not None and goal.figure in figures:
            has = figures[goal.figure]
            found.append(
                {
                    "figure": goal.figure,
                    "of": goal.of,
                    "wanted": wanted,
                    "ratio": has / figures[goal.of],
                    "factor": goal.factor,
                    "reached": has >= wanted,
                }
            )
    return found


def table(figures: Mapping[str, float], passes: Mapping[str, list[float]], goals: Sequence[Goal] = READ_GOALS) -> str:
    """Figures with the spread of their passes, then the goals, as text for people."""
    lines = [f"{'figure':<22} {'median':>12} {'lowest':>12} {'highest':>12}"]
    for name, median in figures.items():
        low, high = min(passes[name]), max(passes[name])
        lines.append(f"{name:<22} {median:>12,.0f} {low:>12,.0f} {high:>12,.0f} {unit(name)}")
    lines += ["", f"{'goal':<40} {'wanted':>12} {'is':>12} {'ratio':>8}"]
    for verdict in verdicts(figures, goals):
        goal = f"{verdict['figure']} >= {verdict['factor']:g} x {verdict['of']}"
        reached = "reached" if verdict["reached"] else "missed"
        is_now = figures[str(verdict["figure"])]
        lines.append(f"{goal:<40} {verdict['wanted']:>12,.0f} {is_now:>12,.0f} {verdict['ratio']:>8.2f} {reached}")
    return "\n".join(lines)
