import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMessage } from './command-parser.ts';

test('parseMessage reads a command name in any letter case and the text after it', () => {
  assert.deepEqual(parseMessage('/status'), { command: { name: 'status', args: '' } });
  assert.deepEqual(parseMessage('/MODEL  switch openai gpt-5 '), { command: { name: 'model', args: 'switch openai gpt-5' } });
  assert.deepEqual(parseMessage('/skill:weather Oslo'), { command: { name: 'skill', args: 'weather Oslo' } });
});

test('parseMessage returns undefined for any other text', () => {
  for (const text of ['hello', '/etc/hosts is a file', '/statuses', '/skill', '/status:x', '/', ' /status', 'see /status']) {
    assert.equal(parseMessage(text), undefined, text);
  }
});

test('parseMessage removes consecutive directives from the message', () => {
  assert.deepEqual(parseMessage('/budget 500k /think high why is that?'), {
    directed: { text: 'why is that?', budget: 500_000, without: ['think'] },
  });
  assert.deepEqual(parseMessage('/verbose on\ntell me'), { directed: { text: 'tell me', without: ['verbose'] } });
});

test('parseMessage returns a command for a directive without text or with an invalid argument', () => {
  assert.deepEqual(parseMessage('/budget 2m'), { command: { name: 'budget', args: '2m' } });
  assert.deepEqual(parseMessage('/think why is that?'), { command: { name: 'think', args: 'why is that?' } });
  assert.deepEqual(parseMessage('/budget 5k go'), { command: { name: 'budget', args: '5k go' } }, 'less than a turn may be given');
});
