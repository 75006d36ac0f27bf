// Writes .br and .gz beside the built files: the server sends them as they are.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const ASSETS = new URL("../../src/trunkline/console/assets", import.meta.url).pathname;
const WORTH_IT = /\.(?:css|js|json|map|mjs|svg|wasm)$/;
const SMALLEST = 512;

for (const name of readdirSync(ASSETS)) {
  if (!WORTH_IT.test(name)) continue;
  const file = join(ASSETS, name);
  const content = readFileSync(file);
  if (content.length < SMALLEST) continue;
  const hint = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: hint }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}
