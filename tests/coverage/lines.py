#!/usr/bin/env python3
"""Says how many lines of each file a report of cargo-tarpaulin calls covered, and which are not.

usage: lines.py REPORT.json
"""

import json
import os
import sys


def ranges(numbers: list[int]) -> str:
    """`1-3, 7` for 1, 2, 3 and 7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        files = json.load(file)["files"]
    covered = total = 0
    rows = []
    for entry in files:
        path = os.path.relpath(os.path.join("/", *entry["path"]))
        if not path.startswith("mcp-proto/src/"):
            continue
        traces = entry["traces"]
        missed = [it["line"] for it in traces if not it["stats"]["Line"]]
        covered += len(traces) - len(missed)
        total += len(traces)
        rows.append((path, len(traces) - len(missed), len(traces), missed))
    for path, some, all_of_them, missed in sorted(rows):
        if missed:
            print(f"{some:5}/{all_of_them:<5} {path}: {ranges(missed)}")
    print(f"{covered} of {total} lines: {100 * covered / max(total, 1):.1f} %")


main()
