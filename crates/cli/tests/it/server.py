"""A small MCP server for the tests of the command line; some of its words are not nice."""

import json
import sys

TOOLS = [
    {
        "name": "echo",
        "description": "Echoes its arguments"
        if "--plain" in sys.argv
        else "Echoes \x1b[2J\u202e\u200b\U000e0041 its arguments\nsecond line",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "n": {"type": "number"}, "flag": {"type": "boolean"}},
        },
    },
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "evil", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
]


def result(method, params):
    name = params.get("name")
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and name == "echo":
        return {"content": [{"type": "text", "text": json.dumps(params["arguments"])}], "unknown": 7}
    if method == "tools/call" and name == "fail":
        return {"content": [{"type": "text", "text": "bad luck"}], "isError": True}
    if method == "tools/call" and name == "evil":
        return {"content": [{"type": "text", "text": "\x1b]0;title\x07red \x1b[31mtext\u202e\u200b"}]}
    if method == "resources/list":
        return {"resources": [{"uri": "mem://note", "name": "note"}, {"uri": "mem://bytes", "name": "bytes"}]}
    if method == "resources/read" and params["uri"] == "mem://bytes":
        return {"contents": [{"uri": "mem://bytes", "blob": "AP/+"}]}
    if method == "resources/read":
        return {"contents": [{"uri": "mem://note", "text": "a note\n"}]}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        text = "Greet " + params["arguments"]["who"]
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    return None


print("started \x1b[31mred", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        print(message["method"], file=sys.stderr, flush=True)
        continue
    if message.get("params", {}).get("name") == "hang":
        print("hanging", file=sys.stderr, flush=True)
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    found = result(message["method"], message.get("params", {}))
    if found is None:
        answer["error"] = {"code": -32601, "message": "unknown", "data": {"reason": "not-ready", "hint": "forged"}}
    else:
        answer["result"] = found
    print(json.dumps(answer), flush=True)
