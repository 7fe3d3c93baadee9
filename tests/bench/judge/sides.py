"""Who is measured, at what, and how one run of it is made."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("BENCH_TARGET_DIR") or os.path.join(HERE, "target")

# Name, program, flavour, and the floor of its runtime.
OURS = [
    ("blocking", "blocking", "-", "floor blocking"),
    ("smol", "smol", "-", "floor smol"),
    ("tokio", "tokio", "current", "floor tokio"),
    ("tokio threads", "tokio", "threads", "floor tokio threads"),
]
FLOORS = [
    ("floor blocking", "floor", "blocking", None),
    ("floor smol", "floor", "smol", None),
    ("floor tokio", "floor", "current", None),
    ("floor tokio threads", "floor", "threads", None),
]
UREQ = ("floor ureq", "floor", "ureq", None)
PEERS = [("rmcp", "peer", "current", None), ("rmcp threads", "peer", "threads", None)]
PEERS_HTTP = [
    ("rmcp pooled", "peer", "current-pooled", None),
    ("rmcp threads pooled", "peer", "threads-pooled", None),
]


def sides(transport, quick):
    http = transport != "stdio"
    floors = FLOORS + ([UREQ] if http else [])
    if quick:
        return OURS + floors
    return OURS + PEERS + (PEERS_HTTP if http else []) + floors


# Which side of the peer one of ours is compared with.
def rival(name, transport):
    rival = "rmcp threads" if name == "tokio threads" else "rmcp"
    return rival if transport == "stdio" else rival + " pooled"


# Name, how often it is done in one run, by --quick, over what, in which eras, pinned or not.
EVERYWHERE = ("stdio", "json", "sse")
BOTH = ("modern", "legacy")
WORKLOADS = [
    ("calls", 10000, 50, EVERYWHERE, BOTH, (True, False)),
    ("flight", 12800, 128, EVERYWHERE, BOTH, (True, False)),
    ("plain", 4, 1, EVERYWHERE, ("modern",), (True, False)),
    ("escaped", 4, 1, EVERYWHERE, ("modern",), (True, False)),
    ("tools", 10, 1, EVERYWHERE, ("modern",), (True, False)),
    ("lifecycle", 50, 2, EVERYWHERE, BOTH, (True, False)),
    ("idle", 1000, 3, ("stdio", "json"), ("modern",), (False,)),
]


class Failed(Exception):
    pass


class Server:
    """What a client is given as its target. Over HTTP it runs, on the same core."""

    def __init__(self, folder, transport, tools, pin):
        program = os.path.join(folder, "bench-server")
        self.process = None
        if transport == "stdio":
            self.target = [program, "stdio", str(tools)]
            return
        argv = pinned([program, "http", transport, str(tools)], pin)
        # It ends with its stdin.
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.target = [self.process.stdout.readline().strip()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


def pinned(argv, pin):
    return ["taskset", "-c", "0", *argv] if pin else argv


def once(folder, side, workload, count, era, target, pin):
    """One run, and what it took."""
    _, program, flavour, _ = side
    argv = [os.path.join(folder, f"bench-{program}"), workload, str(count), era, flavour, *target]
    try:
        done = subprocess.run(pinned(argv, pin), capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{side[0]}: {workload} in the {era} era took more than {late.timeout} s") from late
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Failed(f"{side[0]}: {workload} in the {era} era: {said[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def build(packages, release, counted=False, target=None):
    """Builds programs, and returns the folder that they are in."""
    target = target or os.path.join(TARGET, "counted" if counted else "")
    argv = ["cargo", "build", "--quiet", "--locked", "--manifest-path", os.path.join(HERE, "Cargo.toml")]
    argv += ["--target-dir", target] + (["--release"] if release else [])
    for package in packages:
        argv += ["-p", f"bench-{package}"]
    if counted:
        argv += ["--features", ",".join(f"bench-{package}/counted" for package in packages)]
    if subprocess.run(argv).returncode != 0:
        raise Failed("the programs cannot be built")
    return os.path.join(target, "release" if release else "debug")
