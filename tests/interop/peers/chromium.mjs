// Unpacks the headless Chromium of the package `@sparticuz/chromium`:
//
//   node chromium.mjs FROM INTO
//
// `INTO/chromium` is the program, `INTO/lib` has libraries that not every machine has, `INTO/fonts.conf` names the fonts.

import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const [from, into] = process.argv.slice(2);

async function unpack(name, mode) {
    const unpacked = join(into, name);
    await pipeline(createReadStream(join(from, `${name}.br`)), createBrotliDecompress(), createWriteStream(unpacked, { mode }));
    return unpacked;
}

async function extract(name) {
    const archive = await unpack(name);
    execFileSync("tar", ["-x", "-f", archive, "-C", into]);
    rmSync(archive);
}

await Promise.all([unpack("chromium", 0o755), extract("al2023.tar"), extract("fonts.tar")]);
// Its own configuration has the paths of a cloud; without fonts it ends at the first text.
const fonts = `<dir>${join(into, "fonts")}</dir><cachedir>${join(into, "fonts-cache")}</cachedir>`;
writeFileSync(join(into, "fonts.conf"), `<?xml version="1.0"?>\n<fontconfig>${fonts}</fontconfig>\n`);
