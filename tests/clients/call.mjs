// A client library for Node.js: connects, lists the tools, adds 1 and 2, prints "<number of tools> tools; <text of the result>".
//
//   node call.mjs v1|v2|ai http|sse|ws URL
//   node call.mjs v1|v2|ai stdio COMMAND ARGS…
//   node call.mjs --requests v1|v2 stdio COMMAND ARGS…
//
// With `--requests`, it stays connected, and each line on stdin is a `tools/call` request with an id of its own. Each gets a line: the
// response, as the library gives it. Whatever else the library finds wrong is a line with a "problem".
//
// The libraries are loaded from `$TOOLBAY_TEST_CLIENTS/npm`, where `cargo xtask verify clients` put them.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const takesRequests = process.argv[2] === "--requests";
const [library, transport, target, ...args] = process.argv.slice(takesRequests ? 3 : 2);
const require = createRequire(join(process.env.TOOLBAY_TEST_CLIENTS, "npm", "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const sum = { name: "everything__get-sum", arguments: { a: 1, b: 2 } };
const identity = { name: "toolbay-verify", version: "1.0.0" };

const clients = { v1, v2, ai };
const { count, text } = await clients[library]();
console.log(`${count} tools; ${text}`);
process.exit(0);

async function v1() {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const open = {
        http: async () => new (await load("@modelcontextprotocol/sdk/client/streamableHttp.js")).StreamableHTTPClientTransport(new URL(target)),
        sse: async () => new (await load("@modelcontextprotocol/sdk/client/sse.js")).SSEClientTransport(new URL(target)),
        ws: async () => new (await load("@modelcontextprotocol/sdk/client/websocket.js")).WebSocketClientTransport(new URL(target)),
        stdio: async () => new (await load("@modelcontextprotocol/sdk/client/stdio.js")).StdioClientTransport({ command: target, args }),
    };
    return useSdk(new Client(identity), await open[transport]());
}

async function v2() {
    const sdk = await load("@modelcontextprotocol/client");
    const open = {
        http: async () => new sdk.StreamableHTTPClientTransport(new URL(target)),
        sse: async () => new sdk.SSEClientTransport(new URL(target)),
        stdio: async () => new (await load("@modelcontextprotocol/client/stdio")).StdioClientTransport({ command: target, args }),
    };
    return useSdk(new sdk.Client(identity), await open[transport]());
}

async function useSdk(client, connection) {
    if (takesRequests) await serveRequests(client, connection);
    await client.connect(connection);
    const { tools } = await client.listTools();
    const result = await client.callTool(sum);
    await client.close();
    return { count: tools.length, text: result.content[0].text };
}

async function serveRequests(client, connection) {
    const print = (line) => console.log(JSON.stringify(line));
    client.onerror = (error) => print({ problem: error.message });
    client.onclose = () => print({ problem: "the connection was closed" });
    await client.connect(connection);
    for await (const line of createInterface({ input: process.stdin })) {
        const { id, params } = JSON.parse(line);
        const response = client.callTool(params);
        response.then((result) => print({ id, result }), ({ message }) => print({ id, error: { message } }));
    }
    process.exit(0);
}

async function ai() {
    const { experimental_createMCPClient, createMCPClient = experimental_createMCPClient } = await load("@ai-sdk/mcp");
    const open = {
        http: async () => ({ type: "http", url: target }),
        sse: async () => ({ type: "sse", url: target }),
        stdio: async () => new (await load("@ai-sdk/mcp/mcp-stdio")).Experimental_StdioMCPTransport({ command: target, args }),
    };
    const client = await createMCPClient({ transport: await open[transport]() });
    const tools = await client.tools();
    const result = await tools[sum.name].execute(sum.arguments, { toolCallId: "1", messages: [] });
    await client.close();
    return { count: Object.keys(tools).length, text: result.content[0].text };
}
