// Fails the build when the app grows beyond what its first page may weigh.
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 250_000;
const folder = resolve(import.meta.dirname ?? ".", process.argv[2] ?? "../src/sightline/api/static");
const files = readdirSync(folder, { recursive: true })
  .map(String)
  .filter((name) => /\.(js|css|html|svg)$/.test(name));
const sizes = files.map((name) => [name, gzipSync(readFileSync(join(folder, name))).length]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0);
for (const [name, size] of sizes.sort((a, b) => b[1] - a[1])) {
  console.log(`${String(size).padStart(8)}  ${name}`);
}
console.log(`${String(total).padStart(8)}  bytes in all, gzip; the limit is ${LIMIT}`);
if (total > LIMIT) {
  console.error(`The app weighs ${total} bytes, more than ${LIMIT}.`);
  process.exit(1);
}
