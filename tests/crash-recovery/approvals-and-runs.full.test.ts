import assert from 'node:assert/strict';
import { existsSync, unlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { startEmbedded } from '../e2e/embedded.ts';
import { sendRequest } from '../e2e/exchange.ts';
import { awaitEnd, checkRound, decide, getDyingOptions, getTurns } from './approvals-and-runs.ts';

/** Distance between two points at which the process dies. With 1 it dies before and after each write. */
const STRIDE = Number(process.env['SWITCHYARD_TEST_STRIDE'] ?? 9);
/** A range of points, to run them in parts. The story has about half as many points. */
const FIRST_POINT = Number(process.env['SWITCHYARD_TEST_FIRST_POINT'] ?? 1);
const LAST_POINT = Number(process.env['SWITCHYARD_TEST_LAST_POINT'] ?? 300);

test('approvals and sub-agents end once when the process is killed before and after writes', { timeout: 3_600_000 }, async (t) => {
  await using data = await tempDir();
  const order = `${data.path}/point`;
  const start = () => startEmbedded({ data: data.path, ...getDyingOptions(order) });
  let product = await start();
  const stop = new AbortController();
  const deciding = decide(() => product, stop.signal);
  await using own = new AsyncDisposableStack();
  own.defer(async () => {
    stop.abort();
    await deciding;
    await product[Symbol.asyncDispose]();
  });
  const total = { kills: 0, approved: 0, child: 0 };
  for (let point = FIRST_POINT; point <= LAST_POINT; point += STRIDE) {
    writeFileSync(order, String(point));
    const turns = getTurns(point).map((turn) => sendRequest(product, 'agent.execute', turn).catch(() => undefined));
    const { exited } = product.process;
    let isOver = false;
    void exited.then(() => (isOver = true));
    const isKilled = await Promise.race([exited.then(() => true), awaitEnd(product, point, () => isOver).then(() => isOver)]);
    if (!isKilled) break; // the story has fewer points
    await Promise.all(turns);
    await product[Symbol.asyncDispose]();
    total.kills += 1;
    product = await start();
    const { approved, child } = await checkRound(product, point);
    total.approved += approved;
    total.child += child;
  }
  if (existsSync(order)) unlinkSync(order);
  t.diagnostic(JSON.stringify(total));
  assert.ok(total.kills > 1 && total.approved > 0 && total.child > 0, JSON.stringify(total));
});
