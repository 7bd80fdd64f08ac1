// An agent without a model: it does tasks through a hub, step by step as `tasks.json` says, and counts the tokens that a model would
// read meanwhile: with every request the definitions of all tools that are listed, and all that was said before.
//
//   node agent.mjs all|search|activate URL WORK
//
// `all` calls the tools that are listed. `search` finds them with `search_tools` and calls them with `call_tool` and the like. `activate`
// finds them the same way, waits until the list has changed, and calls the tool itself. Prints a line of JSON for each task, and one for the
// list.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [mode, url, work] = process.argv.slice(2);
const require = createRequire(join(process.env.TOOLBAY_TEST_CONTEXT, "npm", "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = await load("@modelcontextprotocol/sdk/types.js");
const { encode } = await load("gpt-tokenizer/encoding/o200k_base");

const tokens = (value) => encode(typeof value === "string" ? value : JSON.stringify(value)).length;
const tasks = JSON.parse(readFileSync(new URL("tasks.json", import.meta.url), "utf8").replaceAll("$WORK", work));

class Agent {
    static async open() {
        const agent = new Agent();
        agent.client = new Client({ name: "toolbay-verify", version: "1.0.0" });
        agent.changed = new Promise((resolve) => (agent.onChange = resolve));
        agent.client.setNotificationHandler(ToolListChangedNotificationSchema, () => agent.onChange());
        await agent.client.connect(new StreamableHTTPClientTransport(new URL(url)));
        await agent.list();
        // What clients put before a conversation.
        agent.transcript = [agent.client.getInstructions() ?? ""];
        Object.assign(agent, { turns: 0, read: 0, largest: 0 });
        return agent;
    }

    async list() {
        this.tools = (await this.client.listTools()).tools;
    }

    /** A request to the model: it reads the definitions and the conversation, and says `output`. */
    turn(output) {
        const input = tokens(this.tools) + this.transcript.reduce((sum, text) => sum + tokens(text), 0);
        this.turns += 1;
        this.read += input;
        this.largest = Math.max(this.largest, input);
        this.transcript.push(JSON.stringify(output));
    }

    async call(name, args) {
        this.turn({ name, arguments: args });
        const result = await this.client.callTool({ name, arguments: args });
        const text = result.content.map((part) => part.text ?? "").join("\n");
        this.transcript.push(text);
        if (result.isError) throw new Error(`${name}: ${text}`);
        return { text, structured: result.structuredContent };
    }

    /** Does a task; returns why it failed, if it did. */
    async run({ task, steps }) {
        this.transcript.push(task);
        const found = mode === "all" ? undefined : await this.find(steps);
        for (const step of steps) {
            const { text } = await this.step(step, found);
            if (step.expect !== undefined && !text.includes(step.expect)) return `${step.tool} answered ${text}`;
        }
        this.turn("It is done.");
        return undefined;
    }

    /** What all steps need, in one search. */
    async find(steps) {
        const wanted = [...new Set(steps.map(({ want }) => want))];
        const { structured } = await this.call("search_tools", { query: wanted.join("\n") });
        return new Map(structured.tools.map((tool) => [tool.name, tool]));
    }

    async step({ tool, arguments: args }, found) {
        const isListed = () => this.tools.some(({ name }) => name === tool);
        if (mode === "all") return this.call(tool, args);
        const hit = found.get(tool);
        if (hit === undefined) throw new Error(`${tool} was not found, but ${[...found.keys()].join(", ")}`);
        if (mode === "search") return this.call(hit.call_with, { name: tool, arguments: args });
        await this.changed;
        if (!isListed()) await this.list();
        if (!isListed()) throw new Error(`${tool} is not listed after it was found`);
        return this.call(tool, args);
    }
}

for (const [index, task] of tasks.entries()) {
    const agent = await Agent.open();
    if (index === 0) console.log(JSON.stringify({ list: agent.tools.length, bytes: JSON.stringify(agent.tools).length, tokens: tokens(agent.tools) }));
    const failed = await agent.run(task).catch((error) => String(error));
    console.log(JSON.stringify({ task: task.task, failed, turns: agent.turns, read: agent.read, largest: agent.largest }));
    await agent.client.close();
}
process.exit(0);
