import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildOpenRpcInSteps, publicMethods } from '@switchyard/contracts';
import { buildOpenApiInSteps } from '../openapi/openapi-document.ts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

/** Maximum share of the longest step in the CPU time of both documents; config.apply with all settings takes a third. */
const MAX_STEP_SHARE = 0.6;

interface Walk {
  steps: number;
  longestMs: number;
  totalMs: number;
}

function runSteps(steps: Iterator<unknown>): Walk {
  const result: Walk = { steps: 0, longestMs: 0, totalMs: 0 };
  for (let done: boolean | undefined = false; !done; result.steps += 1) {
    const before = process.threadCpuUsage();
    done = steps.next().done;
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    result.longestMs = Math.max(result.longestMs, ms);
    result.totalMs += ms;
  }
  return result;
}

test('builds the documents in steps that do not block other requests', async () => {
  await using gateway = await startTestGateway();
  const { routes } = gateway.gateway;
  const served = { url: 'http://here', version: '1.0.0' };
  const [openRpc, openApi] = [runSteps(buildOpenRpcInSteps(served)), runSteps(buildOpenApiInSteps(routes, served))];
  assert.equal(openRpc.steps, publicMethods.size + 1);
  assert.equal(openApi.steps, routes.filter(({ doc }) => doc !== undefined).length + 1);
  const totalMs = openRpc.totalMs + openApi.totalMs;
  for (const { longestMs } of [openRpc, openApi])
    assert.ok(longestMs < MAX_STEP_SHARE * totalMs, `a step took ${longestMs} of ${totalMs} ms`);
});

test('returns one document to concurrent requests', async () => {
  await using gateway = await startTestGateway();
  const get = async (path: string): Promise<string> =>
    (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${SECRETS.rpc}` } })).text();
  for (const path of ['/openrpc.json', '/openapi.json', '/llms.txt']) {
    const texts = await Promise.all([get(path), get(path), get(path)]);
    assert.ok((texts[0]?.length ?? 0) > 1_000, path);
    assert.equal(new Set(texts).size, 1, path);
  }
});

test('a disconnect during rpc.discover sends nothing, and the next call succeeds', async () => {
  await using gateway = await startTestGateway();
  const call = '{"jsonrpc":"2.0","method":"rpc.discover","id":1}';
  const disconnected = await gateway.connect(SECRETS.rpc);
  disconnected.send(call);
  disconnected.socket.terminate();
  const other = await gateway.connect(SECRETS.rpc);
  assert.equal(((await other.request(call)).result as { openrpc: string }).openrpc, '1.3.2');
});
