// The bindings of the code. It can change every object that it reaches, so what is used later is taken before it runs.
(native) => {
  "use strict";
  const { parse, stringify } = JSON;
  const { hasOwn, create, defineProperty, freeze } = Object;
  const { isArray } = Array;
  const { apply } = Reflect;
  const TheProxy = Proxy, ThePromise = Promise, TheError = Error, TheTypeError = TypeError, text = String;
  const { then } = Promise.prototype;
  const { startsWith, trimStart, trimEnd, includes } = String.prototype;

  // By id: what waits for a call or a timer.
  const waiting = create(null);

  class ToolError extends TheError {
    constructor(tool, message) {
      super(message);
      defineProperty(this, "name", { value: "ToolError" });
      defineProperty(this, "tool", { value: tool });
    }
  }

  const texts = (content) => {
    let joined = "";
    for (let i = 0; i < content.length; i++) {
      const block = content[i];
      if (block === null || typeof block !== "object" || !hasOwn(block, "type") || block.type !== "text") return undefined;
      joined += (i === 0 ? "" : "\n") + text(block.text);
    }
    return joined;
  };

  // The result of a tool as the code gets it.
  const unwrap = (tool, result) => {
    const content = hasOwn(result, "content") && isArray(result.content) ? result.content : [];
    const joined = texts(content);
    if (hasOwn(result, "isError") && result.isError === true) {
      throw new ToolError(tool, joined || stringify(content));
    }
    if (hasOwn(result, "structuredContent") && result.structuredContent !== null) return result.structuredContent;
    if (joined === undefined) return content;
    const start = apply(trimStart, joined, []);
    if (apply(startsWith, start, ["{"]) || apply(startsWith, start, ["["])) {
      try {
        return parse(joined);
      } catch {
        // Only text that looks like JSON.
      }
    }
    return joined;
  };

  const invoke = (server, name, args) => {
    const tool = server === undefined ? name : `${server}.${name}`;
    return new ThePromise((resolve, reject) => {
      if (args === undefined || args === null) args = {};
      if (typeof args !== "object" || isArray(args)) throw new TheTypeError(`${tool}: arguments are one object, such as {id: 1}`);
      const id = native.call(server, name, stringify(args));
      waiting[id] = { resolve, reject, tool };
    });
  };

  const settle = (id, result, failure) => {
    const entry = waiting[id];
    if (entry === undefined) return undefined;
    delete waiting[id];
    if (failure !== undefined && failure !== null) {
      entry.reject(new ToolError(entry.tool, failure));
      return failure;
    }
    if (result === undefined || result === null) return void entry.resolve();
    try {
      entry.resolve(unwrap(entry.tool, parse(result)));
    } catch (error) {
      entry.reject(error);
      return text(error.message);
    }
    return undefined;
  };

  const sealed = (get) => new TheProxy(freeze(create(null)), {
    get: (_, name) => (typeof name === "symbol" || name === "then" || name === "toJSON" ? undefined : get(name)),
    has: (_, name) => typeof name === "string",
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
  const tools = sealed((server) => sealed((name) => (args) => invoke(server, name, args)));
  const call = (name, args) => invoke(undefined, text(name), args);

  const isError = (value) => value instanceof TheError;

  // A value in words: strings as they are, errors with their place, everything else as JSON.
  const show = (value) => {
    if (value === undefined) return undefined;
    if (typeof value === "string") return value;
    try {
      if (isError(value)) {
        const said = `${value.name}: ${value.message}`;
        const stack = typeof value.stack === "string" && apply(includes, value.stack, ["code.js"]) ? `\n${apply(trimEnd, value.stack, [])}` : "";
        return said + stack;
      }
      const json = stringify(value);
      return json === undefined ? text(value) : json;
    } catch {
      try {
        return text(value);
      } catch {
        return "a value that cannot be shown";
      }
    }
  };

  const log = (...values) => {
    let joined = "";
    for (let i = 0; i < values.length; i++) joined += (i === 0 ? "" : " ") + (show(values[i]) ?? "undefined");
    native.log(joined);
  };

  // What a script evaluates to is `{value}` of its last expression. Many models write a function and do not call it.
  const finish = async (started, isScript) => {
    const result = await started;
    const value = isScript ? await result.value : result;
    return typeof value === "function" ? await value() : value;
  };

  const timers = create(null);
  const setTimeout = (callback, milliseconds, ...args) => {
    const id = native.sleep(+milliseconds || 0);
    timers[id] = true;
    const run = () => {
      if (!timers[id]) return;
      delete timers[id];
      callback(...args);
    };
    const elapsed = new ThePromise((resolve, reject) => {
      waiting[id] = { resolve, reject, tool: "setTimeout" };
    });
    apply(then, elapsed, [run]);
    return id;
  };
  const clearTimeout = (id) => {
    delete timers[id];
  };

  const console = freeze({ log, info: log, warn: log, error: log, debug: log });
  // The code may declare a variable of its own by such a name.
  const globals = { tools, call, console, setTimeout, clearTimeout, ToolError };
  for (const name of ["tools", "call", "console", "setTimeout", "clearTimeout", "ToolError"]) {
    defineProperty(globalThis, name, { value: globals[name], writable: false, configurable: true, enumerable: false });
  }
  return { settle, show, finish };
}
