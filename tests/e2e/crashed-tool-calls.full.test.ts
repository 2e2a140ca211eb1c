import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { AFTER_A_KILL, getAnswer, begun, counted, COUNTING, toolTurn } from './counting.ts';
import { startEmbedded } from './embedded.ts';
import { sendRequest } from './exchange.ts';

test('repeats an interrupted tool call only if the tool is idempotent, else reports an unknown outcome', async () => {
  await using data = await tempDir();
  {
    await using product = await startEmbedded({ ...COUNTING, data: data.path });
    for (const { tool, name } of AFTER_A_KILL) void sendRequest(product, 'agent.execute', toolTurn(tool, name)).catch(() => undefined);
    await Promise.all(AFTER_A_KILL.map(({ name }) => begun(product, name)));
    await product.process.end('SIGKILL');
  }
  await using product = await startEmbedded({ ...COUNTING, data: data.path });
  for (const { tool, name, reads, executions } of AFTER_A_KILL) {
    const { result } = await getAnswer(product, toolTurn(tool, name));
    assert.match((result as { response: string }).response, reads);
    const { keys } = await counted(product, name);
    assert.deepEqual(
      keys.map((one) => one.executions),
      [executions],
      'all of them are one call',
    );
    assert.match(keys[0]?.key ?? '', /^turn_[0-9A-Za-z]{22}\/1$/);
  }
});
