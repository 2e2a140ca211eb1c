import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '@switchyard/testkit';
import { checkRound, decide, getDyingOptions, getTurns } from '../crash-recovery/approvals-and-runs.ts';
import { MOMENTS, WRITE_PLACES } from '../crash-recovery/write-places.ts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { sendRequest } from '../e2e/exchange.ts';
import { SKIP } from './processes.ts';

/** Results of runs are announced up to 30 s after their end. */
const PLACE_TIMEOUT_MS = 120_000;
const POLL_MS = 20;

describe('approvals and sub-agents on replicas that are killed', { skip: SKIP, timeout: 1_800_000 }, () => {
  const own = new AsyncDisposableStack();
  let product: Running;
  let order: string;
  before(async () => {
    const { path } = own.use(await tempDir());
    order = `${path}/point`;
    product = own.use(await startProduct('cluster', getDyingOptions(order)));
    const stop = new AbortController();
    const deciding = decide(() => product, stop.signal);
    own.defer(async () => {
      stop.abort();
      await deciding;
    });
  });
  after(() => own.disposeAsync());

  for (const place of WRITE_PLACES)
    for (const moment of MOMENTS)
      test(`a replica dies ${moment} the write "${place}": nothing is lost and nothing runs twice`, async (t) => {
        const round = `${place}-${moment}`;
        writeFileSync(order, `${place} ${moment}`);
        // The replica that answers may be the one that dies. The check of the round repeats each request.
        for (const turn of getTurns(round)) void sendRequest(product, 'agent.execute', turn).catch(() => undefined);
        const deadline = Date.now() + PLACE_TIMEOUT_MS;
        while (existsSync(order)) {
          assert.ok(Date.now() < deadline, 'no replica reached the place');
          await sleep(POLL_MS);
        }
        // The launcher starts the killed replica again.
        t.diagnostic(JSON.stringify(await checkRound(product, round)));
      });
});
