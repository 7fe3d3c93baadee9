"""The command line, and the order in which everything is run."""
import argparse
import os
import platform
import shutil
import subprocess
import tempfile
import time
from datetime import date

import tables
from sides import HERE, WORKLOADS, Failed, Server, build, once, sides

PROGRAMS = ["server", "blocking", "smol", "tokio", "floor"]


def main(argv):
    args = argparse.ArgumentParser(prog="tests/bench/run")
    args.add_argument("--quick", action="store_true", help="only that everything works, without the peer")
    args.add_argument("--only", nargs="+", default=[], metavar="WORD", help="such as calls or flight-stdio")
    args.add_argument("--rounds", type=int, default=5)
    args = args.parse_args(argv)
    try:
        return quick() if args.quick else full(args)
    except Failed as failed:
        print(f"FAILED {failed}")
        return 1


def cases():
    for workload, many, few, over, eras, pins in WORKLOADS:
        for transport in over:
            for era in eras:
                for pin in pins:
                    yield workload, many, few, transport, era, pin


def quick():
    """Every workload works: a program looks at each answer that it gets."""
    folder, runs, failures = build(PROGRAMS, release=False), 0, []
    for workload, _, few, transport, era, pin in cases():
        if pin:
            continue
        with Server(folder, transport, 5000 if workload == "tools" else 10, False) as server:
            for side in sides(transport, quick=True):
                runs += 1
                try:
                    once(folder, side, workload, few, era, server.target, False)
                except Failed as failed:
                    failures.append(failed)
                    print(f"FAILED {transport}: {failed}")
    print(f"bench: {runs} runs, {len(failures)} failed")
    return 1 if failures else 0


def full(args):
    folder, parts, began = build(PROGRAMS + ["peer"], release=True), [], time.monotonic()
    for workload, many, _, transport, era, pin in cases():
        name = f"{workload}-{transport}-{era}-{'one' if pin else 'two'}"
        if args.only and not any(word in name for word in args.only):
            continue
        everyone = sides(transport, quick=False)
        runs = {side[0]: [] for side in everyone}
        with Server(folder, transport, 5000 if workload == "tools" else 10, pin) as server:
            for _ in range(args.rounds):
                for side in everyone:
                    runs[side[0]].append(once(folder, side, workload, many, era, server.target, pin))
        parts.append(tables.table(workload, transport, era, pin, runs))
        print(parts[-1], flush=True)
    if not args.only or "allocations" in args.only:
        parts.append(tables.allocations(count_allocations()))
        print(parts[-1], flush=True)
    if not args.only or "sizes" in args.only:
        parts.append(tables.sizes(measure_builds()))
        print(parts[-1], flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    if not args.only:
        write(parts)
    return 0


def count_allocations():
    folder = build(PROGRAMS[1:] + ["peer"], release=True, counted=True)
    server_folder = build(["server"], release=True)
    rows = {}
    for transport in ("stdio", "json", "sse"):
        with Server(server_folder, transport, 10, False) as server:
            for side in sides(transport, quick=False):
                run = once(folder, side, "calls", 2000, "modern", server.target, False)
                rows.setdefault(side[0], {})[transport] = run["allocations"] / run["count"]
    return rows


def measure_builds():
    """Crates, clean build and size, each in an empty folder."""
    rows = []
    for package in ("blocking", "smol", "tokio", "peer"):
        tree = ["cargo", "tree", "--locked", "-p", f"bench-{package}", "-e", "normal,build"]
        told = subprocess.run([*tree, "--prefix", "none"], cwd=HERE, capture_output=True, text=True)
        crates = {" ".join(line.split()[:2]) for line in told.stdout.splitlines() if line.strip()}
        folder = tempfile.mkdtemp(prefix="bench-")
        began = time.monotonic()
        try:
            program = os.path.join(build([package], release=True, target=folder), f"bench-{package}")
            seconds = time.monotonic() - began
            stripped = os.path.join(folder, "stripped")
            subprocess.run(["strip", "-o", stripped, program], check=True)
            rows.append((package if package != "peer" else "rmcp", len(crates), seconds, os.path.getsize(stripped)))
        finally:
            shutil.rmtree(folder)
    return rows


def write(parts):
    """What was measured goes below what has been said of it."""
    path = os.path.join(HERE, "RESULTS.md")
    mark = "## Measured"
    above = "# Results\n\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            above = file.read().split(mark)[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{above}{mark}\n\n{surroundings()}\n\n" + "\n".join(parts))


def surroundings():
    def said(*argv):
        return subprocess.run(argv, cwd=HERE, capture_output=True, text=True).stdout.strip()

    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    with open(os.path.join(HERE, "Cargo.lock"), encoding="utf-8") as file:
        locked = file.read().split("[[package]]")
    versions = {}
    for package in locked:
        fields = dict(line.split(" = ") for line in package.splitlines() if line.count(" = ") == 1)
        versions[fields.get("name", "").strip('"')] = fields.get("version", "").strip('"')
    named = ", ".join(f"{name} {versions[name]}" for name in ("rmcp", "reqwest", "ureq", "smol", "tokio"))
    commit = said("git", "rev-parse", "--short", "HEAD")
    return (
        f"{date.today()}, commit {commit}; {model}, {os.cpu_count()} cores, Linux {platform.release()}; "
        f"{said('rustc', '--version')}; {named}.\n\n"
        "Medians of interleaved rounds, each a process of its own; ratios are medians of the ratios of a "
        "round, above 1 when this client is the better one. CPU is that of the client, for each call, list "
        "or connection. Over HTTP rmcp stands beside with a pooled client."
    )
