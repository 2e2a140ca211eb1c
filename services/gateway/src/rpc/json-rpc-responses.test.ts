import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { encodeBatch, encodeError, encodeLocalResult, encodeResult } from './json-rpc-responses.ts';
import { toPayloadBytes } from '../http/payload.ts';

/** An id as a Latin-1 string of its bytes. */
const id = Buffer.from('"ü☃"').toString('latin1');

test('encodes the bytes of result and id at any length', () => {
  for (const length of [0, 1, 16_000, 16_384, 100_000]) {
    const result = Buffer.from(JSON.stringify('ü☃'.repeat(length)));
    const answer = encodeResult(result, id);
    const expected = `{"jsonrpc":"2.0","result":${result.toString()},"id":"ü☃"}`;
    assert.equal(toPayloadBytes(answer).toString(), expected);
    assert.equal(answer.length, Buffer.byteLength(expected));
    assert.equal(typeof answer, length < 16_000 ? 'string' : 'object', 'long payloads are buffers');
  }
});

test('encodes local results and errors the same alone and in a batch', () => {
  const error = encodeError(new ServiceError('NOT_FOUND', 'No ☃.'), 'req_1', id);
  const batch = encodeBatch([encodeLocalResult('"é"', '1'), error, encodeResult(Buffer.from('{}'), id)]);
  const [first, second, third] = JSON.parse(toPayloadBytes(batch).toString()) as {
    id: unknown;
    result?: unknown;
    error?: { message: string };
  }[];
  assert.deepEqual([first?.id, first?.result], [1, 'é']);
  assert.deepEqual([second?.id, second?.error?.message], ['ü☃', 'No ☃.']);
  assert.deepEqual(third, { jsonrpc: '2.0', result: {}, id: 'ü☃' });
});
