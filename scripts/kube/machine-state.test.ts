import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { compareMachineStates, readMachineState } from './machine-state.ts';
import { PROGRAMS } from './paths.ts';

test('compareMachineStates reports new lines and other values', () => {
  assert.deepEqual(compareMachineStates(['setting a = 1', 'network namespace x'], ['setting a = 2', 'network namespace x', 'mount y']), [
    'setting a = 2',
    'mount y',
  ]);
});

test(
  'readMachineState finds a process of the cluster, and nothing else that changes by itself',
  { skip: process.platform !== 'linux' },
  () => {
    const before = readMachineState();
    const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1_000)', `${PROGRAMS}/kubelet`]);
    try {
      const found = compareMachineStates(before, readMachineState());
      assert.deepEqual(found.filter((line) => line.includes('kubelet')).length, 1);
    } finally {
      child.kill('SIGKILL');
    }
  },
);
