import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEmbedded } from '../e2e/embedded.ts';

/**
 * Runs the conformance suite of the Model Context Protocol against `/mcp` (`make test-mcp`). npx downloads the suite, because it brings
 * a hundred packages. The suite sends no token, so a proxy adds one.
 *
 * The other scenarios need a server written for the suite: they call tools, prompts and resources with fixed names, or features that are
 * not offered here (completion, log levels, prompts, sampling, elicitation, subscriptions, resumed streams).
 */
const SUITE = '@modelcontextprotocol/conformance@0.1.16';
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

await using product = await startEmbedded();
const { hostname, port } = new URL(product.url);
const proxy = createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${product.token}` };
  const passed = request({ hostname, port, path: asked.url, method: asked.method, headers }, (options) => {
    answer.writeHead(options.statusCode ?? 502, options.headers);
    options.pipe(answer);
  });
  asked.pipe(passed);
});
await new Promise<void>((resolve) => proxy.listen(0, resolve));
const url = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;

let failed = 0;
for (const scenario of SCENARIOS) failed += await run(scenario);
proxy.close();
console.log(failed === 0 ? `All ${SCENARIOS.length} scenarios passed.` : `${failed} scenarios failed.`);
process.exitCode = failed === 0 ? 0 : 1;

function run(scenario: string): Promise<0 | 1> {
  const suite = spawn('npx', ['--yes', SUITE, 'server', '--url', url, '--scenario', scenario], { stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => suite.on('close', (code) => resolve(code === 0 ? 0 : 1)));
}
