"""Lists the tools of a server and calls one, with a client library for Python; prints their names and the text.

    python list_and_call.py mcp|mcp-1|fastmcp URL TOOL
"""

import asyncio
import json
import sys

ARGUMENTS = {"text": "hello"}


async def mcp(url, tool):
    from mcp.client.client import Client

    async with Client(url) as client:
        return await client.list_tools(), await client.call_tool(tool, ARGUMENTS)


async def mcp_1(url, tool):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        return await session.list_tools(), await session.call_tool(tool, ARGUMENTS)


async def fastmcp(url, tool):
    from fastmcp import Client

    async with Client(url) as client:
        return await client.list_tools(), await client.call_tool(tool, ARGUMENTS)


library, url, tool = sys.argv[1:]
listed, result = asyncio.run({"mcp": mcp, "mcp-1": mcp_1, "fastmcp": fastmcp}[library](url, tool))
tools = listed if isinstance(listed, list) else listed.tools
print(json.dumps({"tools": [tool.name for tool in tools], "text": result.content[0].text}))
