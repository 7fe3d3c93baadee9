"""From runs to tables."""
from statistics import median

from sides import OURS, rival

# What is told of a workload: the heading, what a run says of it, and whether more is better.
MEASURES = {
    "calls": ("calls/s", lambda run: run["count"] / run["seconds"], True),
    "flight": ("calls/s", lambda run: run["count"] / run["seconds"], True),
    "plain": ("ms", lambda run: 1e3 * run["seconds"] / run["count"], False),
    "escaped": ("ms", lambda run: 1e3 * run["seconds"] / run["count"], False),
    "tools": ("ms", lambda run: 1e3 * run["seconds"] / run["count"], False),
    "lifecycle": ("ms", lambda run: 1e3 * run["seconds"] / run["count"], False),
    "idle": ("KiB each", lambda run: run["grown"] / 1024 / run["count"], False),
}
TITLES = {
    "calls": "Sequential calls",
    "flight": "64 calls in flight",
    "plain": "A result of 32 MiB",
    "escaped": "A result of 32 MiB, an escape every 80 characters",
    "tools": "`tools/list` of 5,000 tools",
    "lifecycle": "Start, list, call, close",
    "idle": "1,000 idle connections",
}
OVER = {"stdio": "stdio", "json": "HTTP, JSON answers", "sse": "HTTP, event-stream answers"}


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(runs, others, measure, more):
    """How many times as good the runs are, round by round."""
    pairs = [(measure(a), measure(b)) for a, b in zip(runs, others)]
    pairs = [(a, b) if more else (b, a) for a, b in pairs if a > 0 and b > 0]
    return f"{median(a / b for a, b in pairs):.2f}" if pairs else "-"


def table(workload, transport, era, pin, runs):
    """`runs` is a list of runs for each side."""
    unit, measure, more = MEASURES[workload]
    peers = any(name.startswith("rmcp") for name in runs)
    lines = [
        f"### {TITLES[workload]}: {OVER[transport]}, {era}, {'one core' if pin else 'two cores'}",
        "",
        f"| | {unit} | min–max | CPU | peak MiB | to the floor | to rmcp |",
        "|---|---|---|---|---|---|---|",
    ]
    floors = {name: floor for name, _, _, floor in OURS}
    for name, of_side in runs.items():
        values = [measure(run) for run in of_side]
        cpu = median(1e6 * run["cpu"] / run["count"] for run in of_side)
        peak = max(run["peak"] for run in of_side) / 2**20
        to_floor = to_rival = ""
        if name in floors:
            to_floor = ratio(of_side, runs[floors[name]], measure, more)
            if transport != "stdio" and name == "blocking":
                to_floor += f" (ureq {ratio(of_side, runs['floor ureq'], measure, more)})"
            if peers:
                to_rival = ratio(of_side, runs[rival(name, transport)], measure, more)
        lines.append(
            f"| {name} | {number(median(values))} | {number(min(values))}–{number(max(values))} "
            f"| {number(cpu)} µs | {peak:.1f} | {to_floor} | {to_rival} |"
        )
    return "\n".join(lines) + "\n"


def allocations(rows):
    lines = ["### Allocations a call", "", "| | stdio | HTTP, JSON | HTTP, event stream |", "|---|---|---|---|"]
    for name, by_transport in rows.items():
        cells = (f"{by_transport[over]:.1f}" if over in by_transport else "" for over in ("stdio", "json", "sse"))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def sizes(rows):
    lines = [
        "### What it takes to build",
        "",
        "A program that connects, lists and calls; its own two crates are counted.",
        "",
        "| | crates | clean release build | stripped |",
        "|---|---|---|---|",
    ]
    for name, crates, seconds, size in rows:
        lines.append(f"| {name} | {crates} | {seconds:.0f} s | {size / 2**20:.1f} MiB |")
    return "\n".join(lines) + "\n"
