import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMessage } from './command-parser.ts';

test('parseMessage reads a command name in any letter case and the text after it', () => {
  assert.deepEqual(parseMessage('/status'), { command: { name: 'status', args: '' } });
  assert.deepEqual(parseMessage('/MODEL  switch openai gpt-5 '), { command: { name: 'model', args: 'switch openai gpt-5' } });
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

test('parseMessage reads the name of a skill and leaves the rest as its arguments', () => {
  assert.deepEqual(parseMessage('/skill:weather  Oslo '), { directed: { text: 'Oslo', skill: 'weather', without: [] } });
  assert.deepEqual(parseMessage('/SKILL:weather'), { directed: { text: '', skill: 'weather', without: [] } });
  assert.deepEqual(parseMessage('/skill:weather\n/budget 500k Oslo'), {
    directed: { text: '/budget 500k Oslo', skill: 'weather', without: [] },
  });
  assert.deepEqual(parseMessage('/budget 500k /skill:weather'), {
    directed: { text: '', skill: 'weather', budget: 500_000, without: [] },
  });
  assert.equal(parseMessage('/skill: weather'), undefined);
  assert.equal(parseMessage('/skill weather'), undefined);
});

test('parseMessage returns a command for a directive without text or with an invalid argument', () => {
  assert.deepEqual(parseMessage('/budget 2m'), { command: { name: 'budget', args: '2m' } });
  assert.deepEqual(parseMessage('/think why is that?'), { command: { name: 'think', args: 'why is that?' } });
  assert.deepEqual(parseMessage('/budget 5k go'), { command: { name: 'budget', args: '5k go' } }, 'less than a turn may be given');
});
