import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outputWarnings } from './output-warnings.ts';

test('warns about bearer tokens, JWTs and leaked prompts', () => {
  assert.deepEqual(outputWarnings('Authorization: Bearer abcdefghijklmnopqrstuv'), ['bearer_token']);
  assert.deepEqual(outputWarnings('it is eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK'), ['jwt']);
  assert.deepEqual(outputWarnings('My system prompt is: be kind'), ['prompt_leak']);
  assert.deepEqual(outputWarnings('The bearer of this letter has a system'), []);
});
