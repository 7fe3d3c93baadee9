#!/usr/bin/env python3
"""Scans the source of mcp-proto for anything that would make it impure.

    scan.py SRC_DIR        prints one line an offence, exits 1 if there is one

Comments, strings and character literals are blanked first, `use` trees are expanded into full
paths, and a path that starts with an imported name is completed, so that neither
`use std::{net, fs}` nor `use std::io; io::stdin()` slips through. Clippy sees what a macro
expands to and this scan does not; the scan sees code behind every `cfg` and clippy does not.
"""

import os
import re
import sys

# Paths that may appear nowhere, by prefix.
BANNED = {
    "std::net": "sockets and name lookup (addresses come from core::net)",
    "std::fs": "files",
    "std::process": "processes",
    "std::thread": "threads",
    "std::env": "the environment",
    "std::os": "the operating system",
    "std::backtrace": "reads the environment",
    "std::io::stdin": "I/O",
    "std::io::stdout": "I/O",
    "std::io::stderr": "I/O",
    "std::io::pipe": "I/O",
    "std::time::Instant": "reads a clock",
    "std::time::SystemTime": "reads a clock",
    "std::time::UNIX_EPOCH": "reads a clock",
    "tracing": "logs (decisions go out as events)",
    "log": "logs (decisions go out as events)",
    "rand": "draws randomness",
}

# Paths that may appear in the driver only. Arc and Weak come from alloc::sync.
DRIVER_ONLY = {
    "std::sync": "synchronisation (Arc comes from alloc::sync)",
    "core::sync": "synchronisation",
    "std::task": "wakers",
    "core::task": "wakers",
    "alloc::task": "wakers",
    "std::future": "futures",
    "core::future": "futures",
}

# Names that may appear nowhere, whatever path leads to them.
NAMES = {
    "Instant": "reads a clock",
    "SystemTime": "reads a clock",
    "UNIX_EPOCH": "reads a clock",
    "OnceLock": "a lazy static",
    "LazyLock": "a lazy static",
    "lazy_static": "a lazy static",
    "once_cell": "a lazy static",
    "thread_local": "a static of a thread",
    "getrandom": "draws randomness",
    "fastrand": "draws randomness",
    "thread_rng": "draws randomness",
    "ThreadRng": "draws randomness",
    "OsRng": "draws randomness",
    "SysRng": "draws randomness",
    "from_os_rng": "draws randomness",
    "RandomState": "draws randomness",
    "HashMap": "hashes with a random seed (BTreeMap)",
    "HashSet": "hashes with a random seed (BTreeSet)",
}

MACROS = {"print", "println", "eprint", "eprintln", "dbg"}

CHECKS_OFF = re.compile(
    r"\b(?:allow|expect)\s*\([^)]*clippy\s*::\s*"
    r"(disallowed_\w+|iter_over_hash_type|print_std\w+|style|restriction|all)\b"
)
STATIC = re.compile(r"(?<!')\bstatic\s+(mut\b|\w+\s*:\s*([^=;]+))")
SHARED_STATE = re.compile(r"\b(Mutex|RwLock|Atomic\w+|\w*Cell|Once|Lazy\w*|Condvar)\b")
IDENT = r"(?:r#)?[A-Za-z_]\w*"
PATH = re.compile(rf"(?<![\w:#'])(?:::\s*)?({IDENT}(?:\s*::\s*{IDENT})+)")
USE = re.compile(r"\b(?:use|extern\s+crate)\s+([^;]+);")
MODULE = re.compile(rf"\bmod\s+({IDENT})\s*[;{{]")
WORD = re.compile(rf"(?<!')\b{IDENT}")
MACRO = re.compile(rf"(?<!')\b({IDENT})\s*!(?!=)")


def blank(text):
    """The text with comments, strings and characters replaced by spaces; lines stay."""
    token = re.compile(
        r"""//[^\n]*
          | (?P<block>/\*)
          | \b(?:b|c)?r(?P<hashes>\#*)"
          | \b(?:b|c)?"(?:\\.|[^"\\])*"
          | "(?:\\.|[^"\\])*"
          | (?:\bb)?'(?:\\[^\n][^'\n]*|[^\\'\n])'
        """,
        re.VERBOSE | re.DOTALL,
    )
    out, at = [], 0
    while match := token.search(text, at):
        end = match.end()
        if match.group("block"):
            depth = 1
            while depth and (mark := re.compile(r"/\*|\*/").search(text, end)):
                depth += 1 if mark.group() == "/*" else -1
                end = mark.end()
            if depth:
                end = len(text)
        elif match.group("hashes") is not None:
            close = text.find('"' + match.group("hashes"), end)
            end = len(text) if close < 0 else close + 1 + len(match.group("hashes"))
        out.append(text[at : match.start()])
        out.append(re.sub(r"[^\n]", " ", text[match.start() : end]))
        at = end
    return "".join(out) + text[at:]


def expand(tree, prefix=""):
    """Every (path, name it gets here) of a use tree."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace >= 0:
        prefix += tree[:brace].strip()
        depth, part = 0, ""
        for char in tree[brace + 1 : tree.rfind("}")] + ",":
            depth += {"{": 1, "}": -1}.get(char, 0)
            if char == "," and depth == 0:
                if part.strip():
                    yield from expand(part, prefix)
                part = ""
            else:
                part += char
        return
    path, _, alias = re.sub(r"\s+", " ", tree).partition(" as ")
    path = (prefix + path).replace(" ", "").removeprefix("::")
    path = path.removesuffix("::self")
    yield path, alias.strip() or path.rsplit("::", 1)[-1]


def below(path, prefixes):
    for prefix, why in prefixes.items():
        if path == prefix or path.startswith(prefix + "::"):
            return why
    return None


def scan(path, in_driver):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    code = blank(text)
    offences = {}

    def report(offset, what, why):
        line = code.count("\n", 0, offset) + 1
        offences.setdefault((line, what), why)

    def judge(offset, full):
        hit = below(full, BANNED)
        if hit is None and not in_driver and (hit := below(full, DRIVER_ONLY)):
            hit += ", outside src/driver"
        if hit:
            report(offset, full, hit)
        return hit

    # What a name stands for in this file: itself, an import, or (None) something of our own.
    stands_for = {name: None for name in MODULE.findall(code)} | {"crate": None}

    def complete(path):
        first, _, rest = path.partition("::")
        root = stands_for.get(first, first)
        return root and "::".join(filter(None, (root, rest)))

    uses = list(USE.finditer(code))
    for use in uses:
        for path, name in expand(use.group(1)):
            full = complete(path)
            if full in ("std", "core", "alloc") and name != full or full == "std::*":
                report(use.start(1), f"{full} as {name}", "hides paths from this scan")
            bad = full is None or judge(use.start(1), full)
            own = path.split("::")[0] in ("crate", "self", "super")
            if name != full:
                stands_for[name] = None if bad or own else full
    for match in PATH.finditer(code):
        if not any(use.start() <= match.start() < use.end() for use in uses):
            full = complete(re.sub(r"\s+", "", match.group(1)))
            if full:
                judge(match.start(), full)

    for match in WORD.finditer(code):
        if match.group() in NAMES:
            report(match.start(), match.group(), NAMES[match.group()])
    for match in MACRO.finditer(code):
        if match.group(1) in MACROS:
            report(match.start(), match.group(1) + "!", "I/O")
    for match in STATIC.finditer(code):
        if match.group(1) == "mut":
            report(match.start(), "static mut", "a static that changes")
        elif SHARED_STATE.search(match.group(2)):
            report(match.start(), "static " + match.group(1).strip(), "a static that changes")
    for match in CHECKS_OFF.finditer(code):
        report(match.start(), "allow " + match.group(1), "switches a purity check off")
    return [(line, what, why) for (line, what), why in sorted(offences.items())]


def main(src):
    files = bad = 0
    for folder, _, names in sorted(os.walk(src)):
        for name in sorted(names):
            if not name.endswith(".rs"):
                continue
            files += 1
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, src).split(os.sep)
            for line, what, why in scan(path, inside[0] in ("driver", "driver.rs")):
                bad += 1
                print(f"{path}:{line}: {what}: {why}")
    if not files:
        print(f"{src}: no Rust source here")
    if os.path.exists(os.path.join(src, "..", "build.rs")):
        bad += 1
        print(f"{os.path.join(src, '..', 'build.rs')}: a build script can do anything")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
