import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePorts } from './free-port.ts';

test('the ports of one launcher are different ones, beside each other, and none that was chosen before', async () => {
  const before = await freePorts(10, []);
  const ports = await freePorts(40, before);
  assert.equal(new Set([...before, ...ports]).size, 50);
  assert.ok(Math.max(...before, ...ports) - Math.min(...before, ...ports) < 120, ports.join());
});
