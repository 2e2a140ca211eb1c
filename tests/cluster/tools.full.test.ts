import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AFTER_A_KILL, getAnswer, begun, counted, COUNTING, toolTurn } from '../e2e/counting.ts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { sendRequest } from '../e2e/exchange.ts';
import { getProcesses, SKIP } from './processes.ts';

describe('tool calls of a killed runner', { skip: SKIP, timeout: 300_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster', COUNTING)));
  after(() => product[Symbol.asyncDispose]());

  for (const { tool, name, reads, executions } of AFTER_A_KILL) {
    test(`${tool}, under way at all replicas that are killed at once: executed ${executions === 1 ? 'once' : 'again, under its key'}`, async () => {
      void sendRequest(product, 'agent.execute', toolTurn(tool, name)).catch(() => undefined);
      await begun(product, name);
      for (const { service, pid } of await getProcesses(product)) if (service === 'sessions') process.kill(pid, 'SIGKILL');
      const { result } = await getAnswer(product, toolTurn(tool, name));
      assert.match((result as { response: string }).response, reads);
      const { keys } = await counted(product, name);
      assert.deepEqual(
        keys.map((one) => one.executions),
        [executions],
        'all of them are one call',
      );
    });
  }
});
