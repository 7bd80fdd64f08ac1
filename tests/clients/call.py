"""A client library for Python: connects, lists the tools, adds 1 and 2, prints "<number of tools> tools; <text of the result>".

    python call.py mcp|fastmcp http|sse URL
    python call.py mcp|fastmcp stdio COMMAND ARGS…
    python call.py --requests mcp stdio COMMAND ARGS…

With `--requests`, it stays connected, and each line on stdin is a `tools/call` request with an id of its own. Each gets a line: the
response, as the library gives it. Whatever else the library finds wrong is a line with a "problem".
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

TAKES_REQUESTS = sys.argv[1] == "--requests"
LIBRARY, TRANSPORT, TARGET, *ARGS = sys.argv[2 if TAKES_REQUESTS else 1 :]
TOOL, ARGUMENTS = "everything__get-sum", {"a": 1, "b": 2}


@asynccontextmanager
async def streams():
    if TRANSPORT == "stdio":
        from mcp.client.stdio import StdioServerParameters, stdio_client

        opened = stdio_client(StdioServerParameters(command=TARGET, args=ARGS))
    elif TRANSPORT == "sse":
        from mcp.client.sse import sse_client

        opened = sse_client(TARGET)
    else:
        from mcp.client import streamable_http

        connect = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
        opened = connect(TARGET)
    async with opened as (read, write, *_):
        yield read, write


async def use_mcp():
    from mcp import ClientSession

    async with streams() as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()
        result = await session.call_tool(TOOL, ARGUMENTS)
        return len(listed.tools), result.content[0].text


async def serve_requests():
    from mcp import ClientSession

    def show(line):
        print(json.dumps(line), flush=True)

    async def on_message(message):
        if isinstance(message, Exception):
            show({"problem": str(message)})

    async def answer(session, request):
        try:
            result = await session.call_tool(request["params"]["name"], request["params"]["arguments"])
            show({"id": request["id"], "result": result.model_dump(mode="json")})
        except Exception as error:
            show({"id": request["id"], "error": {"message": str(error)}})

    async with streams() as (read, write), ClientSession(read, write, message_handler=on_message) as session:
        await session.initialize()
        tasks = set()
        while line := await asyncio.to_thread(sys.stdin.readline):
            tasks.add(asyncio.create_task(answer(session, json.loads(line))))


async def use_fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

    opened = {
        "stdio": lambda: StdioTransport(command=TARGET, args=ARGS),
        "sse": lambda: SSETransport(TARGET),
        "http": lambda: StreamableHttpTransport(TARGET),
    }[TRANSPORT]()
    async with Client(opened) as client:
        listed = await client.list_tools()
        result = await client.call_tool(TOOL, ARGUMENTS)
        return len(listed), result.content[0].text


async def main():
    if TAKES_REQUESTS:
        return await serve_requests()
    count, text = await {"mcp": use_mcp, "fastmcp": use_fastmcp}[LIBRARY]()
    print(f"{count} tools; {text}")


asyncio.run(main())
