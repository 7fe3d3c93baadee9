#!/usr/bin/env python3
"""Sums up what became of mutants: outcomes.json of cargo-mutants.

usage: mutants.py OUTCOMES.json
"""

import collections
import json
import sys


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        outcomes = json.load(file)["outcomes"]
    counts: collections.Counter[str] = collections.Counter()
    missed = []
    for outcome in outcomes:
        if outcome["scenario"] == "Baseline":
            continue
        summary = outcome["summary"]
        counts[summary] += 1
        if summary == "MissedMutant":
            missed.append(outcome["scenario"]["Mutant"]["name"])
    # What does not compile is no mutant.
    caught = counts["CaughtMutant"] + counts["Timeout"]
    viable = caught + counts["MissedMutant"]
    for name in sorted(missed):
        print("missed:", name)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    print(f"{caught} of {viable} that compile: {100 * caught / max(viable, 1):.1f} % caught")


main()
