import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMessage } from './command-parser.ts';

test('a known name makes a command, whatever its letters are, with what stands behind it', () => {
  assert.deepEqual(parseMessage('/status'), { command: { name: 'status', args: '' } });
  assert.deepEqual(parseMessage('/MODEL  switch openai gpt-5 '), { command: { name: 'model', args: 'switch openai gpt-5' } });
  assert.deepEqual(parseMessage('/skill:weather Oslo'), { command: { name: 'skill', args: 'weather Oslo' } });
});

test('anything else is for the model', () => {
  for (const text of ['hello', '/etc/hosts is a file', '/statuses', '/skill', '/status:x', '/', ' /status', 'see /status']) {
    assert.equal(parseMessage(text), undefined, text);
  }
});

test('directives are taken off what follows them, one after the other', () => {
  assert.deepEqual(parseMessage('/budget 500k /think high why is that?'), {
    directed: { text: 'why is that?', budget: 500_000, without: ['think'] },
  });
  assert.deepEqual(parseMessage('/verbose on\ntell me'), { directed: { text: 'tell me', without: ['verbose'] } });
});

test('a directive alone, or one that makes no sense, is a command that says so', () => {
  assert.deepEqual(parseMessage('/budget 2m'), { command: { name: 'budget', args: '2m' } });
  assert.deepEqual(parseMessage('/think why is that?'), { command: { name: 'think', args: 'why is that?' } });
  assert.deepEqual(parseMessage('/budget 5k go'), { command: { name: 'budget', args: '5k go' } }, 'less than a turn may be given');
});
