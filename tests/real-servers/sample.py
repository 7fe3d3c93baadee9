"""A server on the official Python SDK that offers what the SDK can do.

`sample.py` serves over stdio, `sample.py http PORT` over Streamable HTTP at /mcp, and `sample.py sse
PORT` over the deprecated HTTP+SSE at /sse.

The pinned SDK answers both eras over stdio and Streamable HTTP, so this server is the one real peer
here that a client can reach by either handshake and that is written in neither JavaScript nor Rust.
What it asks of its client, it asks in the form of the era: by a request of its own, or before it
answers.
"""

import sys
from typing import Annotated

import anyio
import mcp_types as types
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage
from pydantic import BaseModel, Field

server = MCPServer("real-servers sample", version="1.0.0", instructions="Adds two integers.")

PIXEL = b"\x89PNG\r\n\x1a\n not a whole picture"
LANGUAGES = ["c", "cobol", "python", "rust"]
stopped = 0


@server.tool(description="Adds two integers.")
def add(a: int, b: int) -> int:
    return a + b


@server.tool(description="Fails.")
def fail() -> str:
    raise ToolError("this tool always fails")


@server.tool(description="Answers with every kind of content.", structured_output=False)
def contents() -> list[types.ContentBlock]:
    picture = types.BlobResourceContents(uri="sample://pixel", mime_type="image/png", blob="iVBORw==")
    return [
        types.TextContent(type="text", text="one of each"),
        types.ImageContent(type="image", data="iVBORw==", mime_type="image/png"),
        types.AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
        types.ResourceLink(type="resource_link", uri="sample://greeting", name="greeting"),
        types.EmbeddedResource(type="resource", resource=picture),
    ]


@server.tool(description="Reports progress step by step, unless it is cancelled.")
async def slow(ctx: Context, steps: int, pause: float) -> str:
    global stopped
    try:
        for step in range(steps):
            await anyio.sleep(pause)
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    except anyio.get_cancelled_exc_class():
        stopped += 1
        raise
    return f"{steps} steps"


@server.tool(name="stopped", description="How many calls of `slow` were cancelled.")
def count_stopped() -> int:
    return stopped


class Person(BaseModel):
    name: str
    age: int = 7
    language: str = Field(default="rust", json_schema_extra={"enum": LANGUAGES})


def ask_person() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


def ask_model(topic: str) -> Sample:
    text = types.TextContent(type="text", text=f"Say something about {topic}.")
    return Sample(
        [types.SamplingMessage(role="user", content=text)],
        max_tokens=9,
        system_prompt="Be short.",
        model_preferences=types.ModelPreferences(hints=[types.ModelHint(name="large")]),
    )


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool(description="Asks the user who they are.")
def person(who: Annotated[ElicitationResult[Person], Resolve(ask_person)]) -> str:
    if who.action != "accept":
        return who.action
    return f"{who.data.name}, {who.data.age}, {who.data.language}"


@server.tool(description="Asks the client's model about a topic.")
def opinion(topic: str, said: Annotated[types.CreateMessageResult, Resolve(ask_model)]) -> str:
    return f"{said.model}: {said.content.text}"


@server.tool(description="Asks where it may work.")
def folders(roots: Annotated[types.ListRootsResult, Resolve(ask_roots)]) -> str:
    return "; ".join(f"{root.name}: {root.uri}" for root in roots.roots)


@server.tool(description="Asks all three.")
def everything(
    topic: str,
    who: Annotated[Person, Resolve(ask_person)],
    said: Annotated[types.CreateMessageResult, Resolve(ask_model)],
    roots: Annotated[types.ListRootsResult, Resolve(ask_roots)],
) -> str:
    return f"{who.name} and {said.model} in {len(roots.roots)} folders"


@server.tool(description="Asks the user to visit a page.", structured_output=False)
async def page(ctx: Context) -> str | types.InputRequiredResult:
    message, url = "Please log in.", "https://login.example.com/start"
    if ctx.protocol_version < "2026-07-28":
        return (await ctx.elicit_url(message, url, "page-1")).action
    if ctx.input_responses:
        return ctx.input_responses["page"].action
    asked = types.ElicitRequest(params=types.ElicitRequestURLParams(message=message, url=url))
    return types.InputRequiredResult(input_requests={"page": asked}, request_state="\u00e9 state")


@server.tool(description="Logs at two levels.")
async def log(ctx: Context) -> str:
    await ctx.debug("a detail", logger_name="sample")
    await ctx.error({"what": "a failure"}, logger_name="sample")
    return "logged"


@server.tool(description="Offers one resource more, and says so.")
async def grow(ctx: Context, name: str) -> str:
    uri = f"sample://grown/{name}"
    server.resource(uri, name=name)(lambda: f"{name} has grown")
    await ctx.notify_resources_changed()
    if ctx.protocol_version < "2026-07-28":
        await ctx.session.send_resource_list_changed()
    return uri


@server.resource("sample://greeting", mime_type="text/plain")
def greeting() -> str:
    """A resource that never changes."""
    return "Good morning from the sample server."


@server.resource("sample://pixel", mime_type="image/png")
def pixel() -> bytes:
    return PIXEL


@server.resource("sample://greeting/{name}", mime_type="text/plain")
def greeting_of(name: str) -> str:
    if name == "nobody":
        raise ResourceNotFoundError("there is nobody")
    return f"Good morning, {name}."


@server.prompt(description="Asks for a sum in words.")
def sum_in_words(a: str, b: str) -> str:
    return f"What is {a} plus {b}? Answer with one word."


@server.prompt(description="Reviews some code.")
def review(code: str, language: str = "rust") -> list:
    picture = types.ImageContent(type="image", data="iVBORw==", mime_type="image/png")
    return [UserMessage(f"Review this {language}: {code}"), AssistantMessage("Gladly."), UserMessage(picture)]


@server.completion()
async def complete(ref, argument, context):
    if argument.name == "language":
        values = [it for it in LANGUAGES if it.startswith(argument.value)]
        return types.Completion(values=values, total=len(values), has_more=False)
    if argument.name == "name":
        return types.Completion(values=[f"{argument.value}-of-{ref.uri}"])
    settled = (context.arguments or {}) if context else {}
    return types.Completion(values=[f"{argument.name} after {sorted(settled)}"])


async def set_level(ctx, params: types.SetLevelRequestParams) -> types.EmptyResult:
    print(f"level: {params.level}", file=sys.stderr)
    return types.EmptyResult()


server._lowlevel_server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)

if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    elif sys.argv[1:2] == ["sse"]:
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
