"""The official Python SDK as a client: connects, lists, runs calls, prints what came over the wire.

    python client.py --revision legacy|modern|auto --calls FILE --http URL | --sse URL
    python client.py --revision legacy|modern|auto --calls FILE [--env K=V]... [--cwd DIR] --stdio -- COMMAND ARGS...
    either with --await NAME...: list until these tools and prompts are there

The SDK makes every request through its public methods, so it checks each answer against its own models; what is
printed are the messages as the transport delivered them, because the SDK's models ignore unknown fields.
An answer that the SDK refused carries `sdkError` beside the raw `result`.
"""

import argparse
import json
import sys
import warnings
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

# The SDK warns that sampling, roots and the legacy revisions are deprecated; here they are the subject.
warnings.simplefilter("ignore")


class Tap:
    """Records what crosses a transport, without touching it."""

    def __init__(self):
        self.methods = {}  # request id -> method
        self.results = []  # (method, result)
        self.begin()

    def begin(self):
        self.progress, self.questions, self.answer = [], [], None

    def sent(self, message):
        if isinstance(message, types.JSONRPCRequest):
            self.methods[message.id] = message.method

    def received(self, message):
        raw = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        if isinstance(message, types.JSONRPCRequest):
            self.questions.append(question(raw))
        elif isinstance(message, types.JSONRPCNotification):
            if raw["method"] == "notifications/progress":
                self.progress.append(raw["params"])
        elif raw.get("id") in self.methods:
            if "error" in raw:
                self.answer = {"error": raw["error"]}
            elif raw["result"].get("resultType") == "input_required":
                # The rounds of an `input_required` call ask their questions inside the result.
                for asked in (raw["result"].get("inputRequests") or {}).values():
                    self.questions.append(question(asked))
            else:
                self.answer = {"result": raw["result"]}
                self.results.append((self.methods[raw["id"]], raw["result"]))

    def last(self, *methods):
        return next((result for method, result in reversed(self.results) if method in methods), None)

    @asynccontextmanager
    async def around(self, transport):
        async with transport as (read, write):
            yield TappedRead(read, self), TappedWrite(write, self)


class Tapped:
    """A stream that is another stream, but for one method."""

    def __init__(self, inner, tap):
        self._inner, self._tap = inner, tap

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *why):
        return await self._inner.__aexit__(*why)


class TappedRead(Tapped):
    async def receive(self):
        return self._seen(await self._inner.receive())

    def __aiter__(self):
        return self

    async def __anext__(self):
        return self._seen(await self._inner.__anext__())

    def _seen(self, item):
        if not isinstance(item, Exception):
            self._tap.received(item.message)
        return item


class TappedWrite(Tapped):
    async def send(self, item):
        self._tap.sent(item.message)
        await self._inner.send(item)


def question(asked):
    return {key: asked[key] for key in ("method", "params") if key in asked}


# The same answers in every driver, so that what a server makes of them can be compared.
async def elicitation(_context, params):
    if getattr(params, "mode", "form") == "url":
        return types.ElicitResult(action="accept")
    return types.ElicitResult(action="accept", content={"name": "Ada Lovelace", "check": True, "integer": 36})


async def sampling(_context, _params):
    return types.CreateMessageResult(
        role="assistant",
        model="interop-model",
        stop_reason="endTurn",
        content=types.TextContent(type="text", text="A fixed answer."),
    )


async def roots(_context):
    return types.ErrorData(code=types.METHOD_NOT_FOUND, message="no roots")


class Driver:
    def __init__(self, client, tap):
        self.client, self.tap = client, tap

    async def exchange(self, send, progress=False):
        """One request through the SDK, and what the wire showed meanwhile."""
        self.tap.begin()
        refused = None
        try:
            await send()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is what we report
            refused = f"{type(error).__name__}: {error}"
        answered = dict(self.tap.answer or {})
        # An error answer is an answer: only what the SDK itself refused is worth a word.
        if refused is not None and "error" not in answered:
            answered["sdkError"] = refused
        if progress:
            answered["progress"] = self.tap.progress
        if self.tap.questions:
            answered["questions"] = self.tap.questions
        return answered

    async def all(self, offered, key, by, page):
        if offered is None:
            return None
        items, cursor = [], None
        while True:
            answered = await self.exchange(lambda: page(cursor=cursor, cache_mode="refresh"))
            if "result" not in answered:
                return answered
            items += answered["result"][key]
            cursor = answered["result"].get("nextCursor")
            if cursor is None:
                return sorted(items, key=lambda item: item[by])

    async def lists(self):
        client, offered = self.client, self.client.server_capabilities
        found = {
            "tools": await self.all(offered.tools, "tools", "name", client.list_tools),
            "resources": await self.all(offered.resources, "resources", "uri", client.list_resources),
            "resourceTemplates": await self.all(
                offered.resources, "resourceTemplates", "uriTemplate", client.list_resource_templates
            ),
            "prompts": await self.all(offered.prompts, "prompts", "name", client.list_prompts),
        }
        return {name: items for name, items in found.items() if items is not None}

    async def settled(self, wanted, seconds):
        """A hub answers lists before its servers are up: list until these are there and two lists are equal."""
        last = await self.lists()
        with anyio.fail_after(seconds):
            while wanted:
                await anyio.sleep(0.4)
                found = await self.lists()
                names = {item["name"] for items in found.values() if isinstance(items, list) for item in items}
                if names.issuperset(wanted) and found == last:
                    break
                last = found
        return last

    async def run(self, call):
        client, method, params = self.client, call["method"], call["params"]
        progress = call.get("progress", False)

        async def watch(_progress, _total, _message):
            pass

        send = {
            "tools/call": lambda: client.call_tool(
                params["name"], params.get("arguments"), progress_callback=watch if progress else None
            ),
            "resources/read": lambda: client.read_resource(params["uri"], cache_mode="refresh"),
            "prompts/get": lambda: client.get_prompt(params["name"], params.get("arguments")),
            "completion/complete": lambda: client.complete(
                reference(params["ref"]), params["argument"], params.get("context", {}).get("arguments")
            ),
        }[method]
        return {"method": method, "params": params, **await self.exchange(send, progress)}


def reference(ref):
    if ref["type"] == "ref/prompt":
        return types.PromptReference.model_validate(ref)
    return types.ResourceTemplateReference.model_validate(ref)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--revision", choices=["legacy", "modern", "auto"], default="legacy")
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--timeout", type=float, default=60_000)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--cwd")
    parser.add_argument("--await", dest="wanted", action="append", default=[])
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--http")
    target.add_argument("--sse")
    target.add_argument("--stdio", action="store_true")
    parser.add_argument("command", nargs="*")
    return parser.parse_args()


async def main():
    options = arguments()
    if options.http:
        transport = streamable_http_client(options.http)
    elif options.sse:
        transport = sse_client(options.sse)
    else:
        command, *args = options.command
        env = get_default_environment() | dict(pair.split("=", 1) for pair in options.env)
        transport = stdio_client(StdioServerParameters(command=command, args=args, env=env, cwd=options.cwd))
    tap = Tap()
    client = Client(
        tap.around(transport),
        # `auto` probes first, as clients in the field do; the revision is checked after the connect.
        mode="legacy" if options.revision == "legacy" else "auto",
        read_timeout_seconds=options.timeout / 1000,
        client_info=types.Implementation(name="toolbay-interop", version="1.0.0"),
        elicitation_callback=elicitation,
        sampling_callback=sampling,
        list_roots_callback=roots,
    )
    async with client:
        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if options.revision != "auto" and modern != (options.revision == "modern"):
            sys.exit(f"client.py: wanted the {options.revision} revision, the connection speaks {client.protocol_version}")
        driver = Driver(client, tap)
        document = {
            "client": "mcp",
            "revision": "modern" if modern else "legacy",
            "protocolVersion": client.protocol_version,
            "handshake": tap.last("initialize", "server/discover"),
            "lists": await driver.settled(options.wanted, options.timeout / 1000),
            "calls": [],
        }
        calls = json.loads(options.calls.read_text()) if options.calls else []
        for call in calls:
            document["calls"].append(await driver.run(call))
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


anyio.run(main)
