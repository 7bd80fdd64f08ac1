// Lists the tools of a server and calls one, with a client library for Node.js; prints their names and the text.
//
//   node list_and_call.mjs typescript-1|typescript-2|typescript-2-modern|ai-sdk URL TOOL
//
// The libraries are loaded from `$TOOLBAY_TEST_PEERS/npm`, where `cargo xtask peers` put them.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [library, url, tool] = process.argv.slice(2);
const load = createRequire(resolve(join(process.env.TOOLBAY_TEST_PEERS, "npm", "package.json")));
const info = { name: "list-and-call", version: "0" };
const call = { name: tool, arguments: { text: "hello" } };

const libraries = {
    "typescript-1": async () => {
        const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
        const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
        const client = new Client(info);
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        return await all(client);
    },
    "typescript-2": () => typescript2("legacy"),
    "typescript-2-modern": () => typescript2("auto"),
    "ai-sdk": async () => {
        const { createMCPClient, experimental_createMCPClient } = await import(load.resolve("@ai-sdk/mcp"));
        const create = createMCPClient ?? experimental_createMCPClient;
        const client = await create({ transport: { type: "http", url } });
        const tools = await client.tools();
        const result = await tools[tool].execute(call.arguments, { toolCallId: "1", messages: [] });
        await client.close();
        return { tools: Object.keys(tools), text: result.content[0].text };
    },
};

async function typescript2(mode) {
    const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
    const client = new Client(info, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return await all(client);
}

async function all(client) {
    const { tools } = await client.listTools();
    const result = await client.callTool(call);
    await client.close();
    return { tools: tools.map(({ name }) => name), text: result.content[0].text };
}

process.stdout.write(JSON.stringify(await libraries[library]()) + "\n", () => process.exit(0));
