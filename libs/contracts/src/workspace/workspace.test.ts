import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { workspaceMethods } from './workspace.ts';

const { params } = workspaceMethods['workspace.writeFile'];

function write(content: string) {
  return parseParams(params, { agentId: 'default', filePath: 'plan.md', content });
}

test('a file has at most 512 KiB, counted in bytes and not in characters', () => {
  for (const text of ['a'.repeat(524_288), 'é'.repeat(262_144), '🚂'.repeat(131_072)]) assert.equal(write(text).content, text);
  assert.throws(() => write('a'.repeat(524_289)), /^ServiceError: Invalid params: content: /);
  assert.throws(() => write('é'.repeat(262_145)), /content: expected text of at most 524288 bytes of UTF-8, got longer text/);
});
