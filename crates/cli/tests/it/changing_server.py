"""A server whose catalog is in a file: it says `list_changed` when that is another."""

import json
import os
import sys
import threading
import time

PATH = sys.argv[1]
lock = threading.Lock()


def catalog():
    with open(PATH) as file:
        return json.load(file)


def send(message):
    with lock:
        print(json.dumps(message), flush=True)


def watch():
    seen = os.stat(PATH).st_mtime_ns
    while True:
        time.sleep(0.05)
        now = os.stat(PATH).st_mtime_ns
        if now != seen:
            seen = now
            for kind in ["tools", "prompts", "resources"]:
                send({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})


def result(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {kind: {"listChanged": True} for kind in ["tools", "prompts", "resources"]},
            "serverInfo": {"name": "changing", "version": "1"},
            "instructions": catalog().get("instructions", "Be kind."),
        }
    if method == "tools/list":
        return {"tools": catalog()["tools"]}
    if method == "prompts/list":
        return {"prompts": catalog().get("prompts", [])}
    if method == "resources/list":
        return {"resources": []}
    if method == "resources/templates/list":
        return {"resourceTemplates": catalog().get("templates", [])}
    if method == "tools/call":
        if params["name"] == "hang":
            return None
        return {"content": [{"type": "text", "text": params["name"]}], "isError": params["name"] == "fail"}
    return {}


threading.Thread(target=watch, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        found = result(message["method"], message.get("params", {}))
        if found is not None:
            send({"jsonrpc": "2.0", "id": message["id"], "result": found})
