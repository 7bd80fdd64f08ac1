"""A client library for Python: connects, lists the tools, adds 1 and 2, prints "<number of tools> tools; <text of the result>".

    python call.py mcp|fastmcp http|sse URL
    python call.py mcp|fastmcp stdio COMMAND ARGS…
"""

import asyncio
import sys
from contextlib import asynccontextmanager

LIBRARY, TRANSPORT, TARGET, *ARGS = sys.argv[1:]
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
    count, text = await {"mcp": use_mcp, "fastmcp": use_fastmcp}[LIBRARY]()
    print(f"{count} tools; {text}")


asyncio.run(main())
