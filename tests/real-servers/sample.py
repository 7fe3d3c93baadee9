"""A small server on the official Python SDK: one tool, one resource, one prompt.

`sample.py` serves over stdio, `sample.py http PORT` over Streamable HTTP at /mcp.

The pinned SDK answers both eras, so this server is the one real peer here that a client can
reach by either handshake and that is written in neither JavaScript nor Rust.
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("real-servers sample", version="1.0.0", instructions="Adds two integers.")


@server.tool(description="Adds two integers.")
def add(a: int, b: int) -> int:
    return a + b


@server.resource("sample://greeting", mime_type="text/plain")
def greeting() -> str:
    """A resource that never changes."""
    return "Good morning from the sample server."


@server.prompt(description="Asks for a sum in words.")
def sum_in_words(a: str, b: str) -> str:
    return f"What is {a} plus {b}? Answer with one word."


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
