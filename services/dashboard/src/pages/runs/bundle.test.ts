import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBundle } from './bundle.ts';

const TURN = 'turn_1';
const bundle = (files: Readonly<Record<string, string>>) => ({
  sessionKey: null,
  traceId: TURN,
  redaction: 'platform-aware-v1' as const,
  files: Object.entries(files).map(([name, content]) => ({ name, content, sha256: '' })),
  truncations: [],
});

test('reads the texts and the evidence of the turn among those of its session', () => {
  const prompts = [
    { traceId: 'turn_0', evidence: { steps: [], model: 'other' } },
    { traceId: TURN, evidence: { steps: [], model: 'dev/echo' } },
  ];
  const files = {
    'recording.json': JSON.stringify({ turnId: TURN, message: 'hello' }),
    'prompts.jsonl': prompts.map((line) => `${JSON.stringify(line)}\n`).join(''),
  };
  const { recording, evidence } = readBundle(bundle(files), TURN);
  assert.equal(recording?.message, 'hello');
  assert.equal(evidence?.model, 'dev/echo');
});

test('returns nothing of texts that are not kept, were cut, or belong to another turn', () => {
  for (const content of ['', '{"turnId":"turn_1","mess', '{"turnId":"turn_2"}'])
    assert.deepEqual(readBundle(bundle({ 'recording.json': content }), TURN), { recording: undefined, evidence: undefined }, content);
});
