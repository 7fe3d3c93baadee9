#!/usr/bin/env python3
"""Draws a sample of the mutants that `cargo mutants --list --json` names.

usage: sample.py COUNT ALL.json

Prints a pattern that fits these mutants and no others. Which they are depends on what they change and in
which function, and not on where that stands, so that the sample stays as the code around it moves.
"""

import collections
import hashlib
import json
import re
import sys

SEED = b"mcp-proto connection, 1"


def main() -> None:
    count, path = int(sys.argv[1]), sys.argv[2]
    with open(path, encoding="utf-8") as file:
        mutants = json.load(file)
    seen: collections.Counter[str] = collections.Counter()
    keyed = []
    for mutant in mutants:
        name = mutant["name"]
        # `file:line:column: what`
        what = re.sub(r":\d+:\d+:", ":", name, count=1)
        seen[what] += 1
        digest = hashlib.sha256(SEED + f"{what}#{seen[what]}".encode()).digest()
        keyed.append((digest, name))
    drawn = sorted(keyed)[:count]
    print("^(" + "|".join(re.escape(name) for _, name in drawn) + ")$")
    print(f"{len(drawn)} of {len(mutants)} mutants", file=sys.stderr)


main()
