import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import { withBreaker } from './tool-circuit-breaker.ts';
import type { ToolBox } from '../tools/toolbox.ts';

/** A tool that fails with what it is given as its error, and answers to nothing. */
function failing(limits: object = {}): { use: (error?: string, name?: string) => Promise<string>; calls: () => number } {
  let calls = 0;
  const tools: ToolBox = {
    specs: [],
    isReadOnly: () => true,
    isIdempotent: () => true,
    use: ({ input }) => {
      calls += 1;
      const { error } = input as { error?: string };
      return Promise.resolve({ result: error === undefined ? 'ok' : { error: `${error} ${calls}` }, failed: error !== undefined });
    },
  };
  const box = withBreaker(tools, AgentConfig.parse({ toolRetryBreaker: limits }).toolRetryBreaker);
  const using = { signal: new AbortController().signal, step: 1 };
  const use = async (error?: string, name = 'look'): Promise<string> =>
    JSON.stringify((await box.use({ name, input: error === undefined ? {} : { error } }, using)).result);
  return { use, calls: () => calls };
}

const MANY = { maxConsecutiveFailures: 99, maxToolFailures: 99, maxConsecutiveErrorPatterns: 99 };

test('blocks a call after repeated identical failures, with advice; other calls pass', async () => {
  const { use, calls } = failing({ ...MANY, maxConsecutiveFailures: 3 });
  for (let n = 0; n < 3; n += 1) assert.doesNotMatch(await use('a'), /TOOL_BLOCKED/);
  assert.match(await use('a'), /TOOL_BLOCKED: look .* 3 times in a row.*another tool/);
  assert.equal(calls(), 3);
  assert.doesNotMatch(await use('b'), /TOOL_BLOCKED/);
});

test('blocks earlier when the error is the same except for numbers', async () => {
  const { use } = failing({ ...MANY, maxConsecutiveErrorPatterns: 2, suggestAlternatives: false });
  await use('a');
  await use('a');
  assert.match(await use('a'), /one reason\."/);
});

test('blocks a tool after too many failures in total; other tools pass', async () => {
  const { use } = failing({ ...MANY, maxToolFailures: 5 });
  for (const error of ['a', 'b', 'c', 'd', 'e']) await use(error);
  assert.match(await use('f'), /has failed 5 times/);
  assert.match(await use(), /TOOL_BLOCKED/);
  assert.equal(await use(undefined, 'other'), '"ok"');
});

test('a success resets the counters; when disabled nothing is blocked', async () => {
  const { use } = failing({ ...MANY, maxConsecutiveFailures: 2 });
  for (const error of ['a', undefined, 'a', undefined, 'a']) assert.doesNotMatch(await use(error), /TOOL_BLOCKED/);
  const off = failing({ enabled: false });
  for (let n = 0; n < 9; n += 1) assert.doesNotMatch(await off.use('a'), /TOOL_BLOCKED/);
});
