// chromium.mjs CHROMIUM CASES: checks cases in a page of Chromium, which this script serves.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { report, SKIPPED } from './check.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const [executablePath, cases] = process.argv.slice(2);
const { chromium } = createRequire(join(root, 'web/'))('playwright-core');

// The page, the cases, and modules of the source tree.
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, 'http://localhost').pathname);
  const file = path === '/cases.json' ? cases : join(root, path);
  if (path === '/') {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>vyre</title>');
  } else if (file === cases || (extname(path) === '.mjs' && existsSync(file))) {
    const type = file === cases ? 'application/json' : 'text/javascript';
    response.setHeader('Content-Type', type).end(readFileSync(file));
  } else {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, 'localhost', ready));

const profile = mkdtempSync(join(tmpdir(), 'vyre-chromium-'));
let status = SKIPPED;
try {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: ['--enable-unsafe-webgpu', '--no-sandbox'],
  });
  const page = await context.newPage();
  await page.goto(`http://localhost:${server.address().port}/`);
  const { count, lines, failure } = await page.evaluate(async () => {
    const { check } = await import('/tests/web/check.mjs');
    const all = await (await fetch('/cases.json')).json();
    try {
      return { count: all.length, lines: await check(navigator.gpu, all) };
    } catch (error) {
      return { failure: String(error) };
    }
  });
  if (failure) console.log(failure);
  else status = report(`Chromium ${context.browser()?.version() ?? ''}`.trim(), count, lines);
  await context.close();
} catch (error) {
  console.log(String(error));
  status = 1;
}
server.close();
rmSync(profile, { recursive: true, force: true });
process.exit(status);
