import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStart } from './collect-start.ts';

test('what a start left behind is collected once, when there is little to do', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [collected, parts]: [unknown[], number[]] = [[], [1, 0.9, 0.5, 0.01, 0.01]];
  const collect = (async (options: unknown) => void collected.push(options)) as NodeJS.GCFunction;
  collectStart({ collect, worked: () => parts.shift() ?? 0 });
  t.mock.timers.tick(2_000);
  assert.deepEqual(collected, [], 'it has much to do');
  t.mock.timers.tick(60_000);
  assert.deepEqual(collected, [{ type: 'major', flavor: 'last-resort' }]);
});

test('without leave to collect nothing is done', () => {
  collectStart({ collect: undefined, worked: () => assert.fail('nobody needs to know') });
});
