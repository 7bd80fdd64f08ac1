// A model that can do one thing: it calls the tool that adds, with 1 and 2, and then says what came back.
//
// It speaks the APIs that coding agents use (Anthropic messages, OpenAI responses and chat completions, Gemini
// generateContent), so that a whole agent can be tried without an account. Prints its port.

import { createServer } from "node:http";

const WANTED = /get[-_]sum$/;
const ARGUMENTS = { a: 1, b: 2 };

const apis = [
    [/\/messages(\?|$)/, anthropic],
    [/\/responses(\?|$)/, openaiResponses],
    [/\/chat\/completions(\?|$)/, openaiChat],
    [/:(streamG|g)enerateContent/, gemini],
];

const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const api = apis.find(([path]) => path.test(request.url))?.[1];
    if (api === undefined || text === "") {
        response.writeHead(api === undefined ? 404 : 200, { "content-type": "application/json" });
        return response.end("{}");
    }
    api(JSON.parse(text), request.url, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));

/** What to do next: call the tool if it is there and was not called yet, else say what is known. */
function turn(tools, results) {
    const tool = tools.find((name) => WANTED.test(name));
    if (results.length > 0) return { say: `the tool said: ${results.at(-1)}` };
    return tool === undefined ? { say: `no tool adds; there are ${tools.length}` } : { call: tool };
}

function anthropic(body, _url, response) {
    const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const results = blocks.filter(({ type }) => type === "tool_result").map(({ content }) => text(content));
    const { call, say } = turn((body.tools ?? []).map(({ name }) => name), results);
    const block = call ? { type: "tool_use", id: "toolu_1", name: call, input: ARGUMENTS } : { type: "text", text: say };
    const stop_reason = call ? "tool_use" : "end_turn";
    const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, content: [block], stop_reason, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
    if (!body.stream) return json(response, message);
    const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(ARGUMENTS) } : { type: "text_delta", text: say };
    const started = call ? { ...block, input: {} } : { type: "text", text: "" };
    events(response, [
        { type: "message_start", message: { ...message, content: [], stop_reason: null } },
        { type: "content_block_start", index: 0, content_block: started },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
        { type: "message_stop" },
    ]);
}

function openaiResponses(body, _url, response) {
    const results = (body.input ?? []).filter(({ type }) => type === "function_call_output").map(({ output }) => text(output));
    // A server's tools may come grouped in a namespace.
    const named = (body.tools ?? []).flatMap((tool) => tool.tools?.map((inner) => ({ ...inner, namespace: tool.name })) ?? [tool]);
    const { call, say } = turn(named.map(({ name }) => name ?? ""), results);
    const namespace = named.find(({ name }) => name === call)?.namespace;
    const item = call
        ? { type: "function_call", id: "fc_1", call_id: "call_1", name: call, ...(namespace && { namespace }), arguments: JSON.stringify(ARGUMENTS), status: "completed" }
        : { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: say, annotations: [] }] };
    const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 };
    const whole = { id: "resp_1", object: "response", status: "completed", model: body.model, output: [item], usage };
    if (!body.stream) return json(response, whole);
    events(response, [
        { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: whole },
    ]);
}

function openaiChat(body, _url, response) {
    const results = body.messages.filter(({ role }) => role === "tool").map(({ content }) => text(content));
    const { call, say } = turn((body.tools ?? []).map((tool) => tool.function.name), results);
    const called = [{ index: 0, id: "call_1", type: "function", function: { name: call, arguments: JSON.stringify(ARGUMENTS) } }];
    const message = call ? { role: "assistant", content: null, tool_calls: called } : { role: "assistant", content: say };
    const base = { id: "chat_1", created: 1, model: body.model };
    const finish_reason = call ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!body.stream) return json(response, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
    const chunk = (delta, reason) => ({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] });
    events(response, [chunk(message, null), { ...chunk({}, finish_reason), usage }], "[DONE]");
}

function gemini(body, url, response) {
    const parts = body.contents.flatMap(({ parts }) => parts ?? []);
    const results = parts.filter((part) => part.functionResponse).map((part) => JSON.stringify(part.functionResponse.response));
    const tools = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
    const { call, say } = turn(tools.map(({ name }) => name), results);
    const part = call ? { functionCall: { name: call, args: ARGUMENTS } } : { text: say };
    const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 };
    const whole = { candidates: [candidate], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    url.includes(":streamGenerateContent") ? events(response, [whole]) : json(response, whole);
}

function text(content) {
    if (typeof content === "string") return content;
    return (content ?? []).map((part) => part.text ?? "").join(" ");
}

function json(response, body) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
}

function events(response, bodies, last) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const body of bodies) response.write(`${body.type ? `event: ${body.type}\n` : ""}data: ${JSON.stringify(body)}\n\n`);
    response.end(last ? `data: ${last}\n\n` : "");
}
