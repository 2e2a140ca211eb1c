import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import type { ModelMessage } from '@switchyard/models';
import fc from 'fast-check';
import { countMessageChars } from '../context-window/window-guard.ts';
import { createTrim } from './tool-result-trimming.ts';

const LONG = 10_000;
const getEngine = (options: object) => AgentConfig.parse({ contextEngine: options }).contextEngine;

interface Step {
  name?: string;
  args?: string;
  chars?: number;
  failed?: boolean;
}

/** A turn so far: a question, and a call with its answer for each step. */
function getTurn(steps: readonly Step[]): ModelMessage[] {
  const content = steps.flatMap(({ name = 'file_read', args, chars = LONG, failed = false }, n): ModelMessage[] => {
    const text = args ?? JSON.stringify({ n });
    return [
      { role: 'assistant', text: '', toolCalls: [{ callId: `c${n}`, name, input: {}, text }] },
      { role: 'tool', callId: `c${n}`, name, result: 'x'.repeat(chars), failed },
    ];
  });
  return [{ role: 'user', text: 'q' }, ...content];
}

const steps = (count: number, more: Step = {}): Step[] => Array.from({ length: count }, () => more);

/** Returns the numbers of the removed results. */
function leftOut(messages: readonly ModelMessage[]): number[] {
  return messages
    .filter((message) => message.role === 'tool')
    .flatMap(({ result }, n) => (/^\[An? \w+ of \S+ with \d+ characters was removed/.test(String(result)) ? [n] : []));
}

function trimmed(engine: object, messages: ModelMessage[]): number[] {
  createTrim(getEngine(engine))?.(messages);
  return leftOut(messages);
}

test('above observationTriggerChars removes the oldest results until less than observationDeactivationChars is left', () => {
  const engine = { observationKeepWindow: 1 };
  assert.deepEqual(trimmed(engine, getTurn(steps(12))), []);
  assert.deepEqual(trimmed(engine, getTurn(steps(13))), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(
    trimmed({ ...engine, observationTriggerChars: 50_000, observationDeactivationChars: 30_000 }, getTurn(steps(6))),
    [0, 1, 2, 3],
  );
});

test('the prompt stays the same between steps until the limit is exceeded again', () => {
  const trim = createTrim(getEngine({ observationKeepWindow: 1 }));
  const messages = getTurn(steps(13));
  assert.equal(trim?.(messages), true);
  const sent = structuredClone(messages);
  const more = [...messages, ...getTurn(steps(4)).slice(1)];
  assert.equal(trim?.(more), false);
  assert.deepEqual(more.slice(0, sent.length), sent);
});

test('keeps the last observationKeepWindow results, and the last ephemeralKeepWindow of web tools', () => {
  assert.deepEqual(trimmed({ observationKeepWindow: 11 }, getTurn(steps(13))), [0, 1]);
  const web = { name: 'web_fetch' };
  assert.deepEqual(trimmed({ ephemeralKeepWindow: 12 }, getTurn(steps(13, web))), [0]);
  assert.deepEqual(trimmed({ ephemeralKeepWindow: 10 }, getTurn(steps(13, web))), [0, 1, 2]);
});

test('version dag uses annotationTriggerChars and keeps the last annotationKeepWindow results', () => {
  const engine = { version: 'dag', annotationKeepWindow: 3 };
  assert.deepEqual(trimmed(engine, getTurn(steps(20))), []);
  assert.deepEqual(
    trimmed(engine, getTurn(steps(21))),
    Array.from({ length: 18 }, (_, n) => n),
  );
  assert.deepEqual(trimmed({ ...engine, annotationTriggerChars: 50_000 }, getTurn(steps(6))), [0, 1, 2]);
});

test('removes repeated and failed results after evictionMinAge steps', () => {
  const old = [{ args: '{"path":"a"}', chars: 500 }, { failed: true, chars: 500 }, { chars: 500 }];
  const again = [{ args: '{"path":"a"}', chars: 500 }];
  const messages = (between: number): ModelMessage[] => getTurn([...old, ...steps(between, { chars: 10 }), ...again]);
  assert.deepEqual(trimmed({}, messages(11)), []);
  assert.deepEqual(trimmed({}, messages(12)), [0]);
  assert.deepEqual(trimmed({}, messages(13)), [0, 1]);
  assert.deepEqual(trimmed({ evictionMinAge: 3 }, messages(1)), [0, 1]);
  const failedAgain = getTurn([...old.slice(0, 1), ...steps(15, { chars: 10 }), { ...again[0], failed: true }]);
  assert.deepEqual(trimmed({}, failedAgain), [], 'a call that failed the second time took no place');
});

test('does nothing with the engine off, and skips a layer after three failures', () => {
  assert.equal(createTrim(getEngine({ enabled: false })), undefined);
  let request = 0;
  const trim = createTrim(getEngine({}), [
    {
      name: 'result-eviction',
      select() {
        request += 1;
        throw new Error('broken');
      },
    },
    { name: 'result-masking', select: () => [[2, 'old_result']] },
  ]);
  for (const _ of [1, 2, 3, 4, 5]) assert.deepEqual([trim?.(getTurn(steps(1)))], [true], 'the other layer goes on');
  assert.equal(request, 3);
});

test('every call keeps a result, other messages stay, and the latest results stay complete', () => {
  const step = fc.record({
    name: fc.constantFrom('file_read', 'web_fetch', 'browser_snapshot', 'exec'),
    args: fc.constantFrom('{}', '{"a":1}', '{"a":2}'),
    chars: fc.integer({ min: 0, max: 20_000 }),
    failed: fc.boolean(),
  });
  const engine = fc.record({
    version: fc.constantFrom('pipeline', 'dag'),
    observationKeepWindow: fc.integer({ min: 1, max: 50 }),
    observationTriggerChars: fc.integer({ min: 50_000, max: 300_000 }),
    observationDeactivationChars: fc.integer({ min: 20_000, max: 300_000 }),
    ephemeralKeepWindow: fc.integer({ min: 1, max: 50 }),
    annotationKeepWindow: fc.integer({ min: 1, max: 50 }),
    annotationTriggerChars: fc.integer({ min: 10_000, max: 300_000 }),
    evictionMinAge: fc.integer({ min: 3, max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), engine, (content, options) => {
      const before = getTurn(content);
      const messages = getTurn(content);
      createTrim(getEngine(options))?.(messages);
      assert.equal(messages.length, before.length);
      const shape = (all: ModelMessage[]) => all.map((one) => (one.role === 'tool' ? [one.callId, one.name, one.failed] : one));
      assert.deepEqual(shape(messages), shape(before));
      assert.deepEqual(messages.at(-1), before.at(-1));
      for (const [at, was] of before.entries()) assert.ok(countMessageChars(messages[at] ?? was) <= countMessageChars(was));
    }),
    { numRuns: 200 },
  );
});
