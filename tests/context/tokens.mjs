// How far the estimate of four bytes for a token is from real tokenizers:
//
//   toolbay tools --json | node tokens.mjs
//
// Prints a line for each tokenizer: the estimate, the real number, and the error in all and by tool (5th, 50th and 95th percentile).

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.TOOLBAY_TEST_CONTEXT, "npm", "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { encode: o200k } = await load("gpt-tokenizer/encoding/o200k_base");
const { encode: cl100k } = await load("gpt-tokenizer/encoding/cl100k_base");
const { countTokens } = require("@anthropic-ai/tokenizer");

const definitions = JSON.parse(readFileSync(0, "utf8")).tools.map((tool) => JSON.stringify(tool));
const estimates = definitions.map((text) => Math.ceil(Buffer.byteLength(text) / 4));
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;
const tokenizers = { o200k_base: (text) => o200k(text).length, cl100k_base: (text) => cl100k(text).length, claude: countTokens };
for (const [name, count] of Object.entries(tokenizers)) {
    const real = definitions.map(count);
    const ratios = estimates.map((estimate, index) => estimate / real[index]).sort((a, b) => a - b);
    const at = (share) => percent(ratios[Math.floor((ratios.length - 1) * share)]);
    console.log(`${name}: ${sum(estimates)} estimated, ${sum(real)} real, error ${percent(sum(estimates) / sum(real))}; by tool ${at(0.05)}, ${at(0.5)}, ${at(0.95)}`);
}
