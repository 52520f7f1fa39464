// run.mjs CASES: checks cases in the program that runs this script, which is node or Deno.
import { check, report, SKIPPED } from './check.mjs';

async function inDeno() {
  return { where: `Deno ${Deno.version.deno}`, path: Deno.args[0], gpu: navigator.gpu };
}

// npm's `webgpu` is installed in web/, which is where node has to look for it.
async function inNode() {
  const { createRequire } = await import('node:module');
  const { pathToFileURL } = await import('node:url');
  const require = createRequire(new URL('../../web/', import.meta.url));
  const { create } = await import(pathToFileURL(require.resolve('webgpu')));
  return { where: `node ${process.version}`, path: process.argv[2], gpu: create([]) };
}

const { where, path, gpu } = await (globalThis.Deno ? inDeno() : inNode());
const { readFileSync } = await import('node:fs');
const cases = JSON.parse(readFileSync(path, 'utf8'));
let status = SKIPPED;
try {
  status = report(where, cases.length, await check(gpu, cases));
} catch (error) {
  console.log(String(error));
}
const { exit } = await import('node:process');
exit(status);
