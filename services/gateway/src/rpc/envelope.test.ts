import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  INVALID_REQUEST,
  MAX_DEPTH,
  NO_PARAMS,
  PARSE_ERROR,
  readEnvelope,
  type Envelope,
  type Item,
  type InvalidItem,
  type RpcRequest,
} from './envelope.ts';
import { damage, parses } from './json.fixture.ts';

const read = (text: string, maxBatchSize = 50): Envelope => readEnvelope(Buffer.from(text), maxBatchSize);

function readSingle(text: string): Item {
  const envelope = read(text);
  assert.ok(!Array.isArray(envelope), 'one message, not a batch');
  return envelope;
}

function request(text: string): RpcRequest {
  const item = readSingle(text);
  assert.ok(item.fault === undefined, `refused: ${item.fault?.message}`);
  return item;
}

function refusal(text: string): InvalidItem {
  const item = readSingle(text);
  assert.ok(item.fault !== undefined, 'accepted');
  return item;
}

/** The bytes of an id as text. */
const idText = ({ id }: RpcRequest): string | undefined => (id === undefined ? undefined : Buffer.from(id, 'latin1').toString());

const paramsText = (item: RpcRequest): string | undefined =>
  typeof item.params === 'string' ? undefined : Buffer.from(item.params).toString();

describe('a request', () => {
  test('keeps the bytes of its params', () => {
    const item = request('{"jsonrpc":"2.0","method":"a.b","params": {"x" : [1, 2.50] , "y":"}"} ,"id":7}');
    assert.equal(item.method, 'a.b');
    assert.equal(paramsText(item), '{"x" : [1, 2.50] , "y":"}"}');
    assert.equal(item.id, '7');
  });

  test('without params has none, and without id is a notification', () => {
    const item = request(' {"method":"a.b","jsonrpc":"2.0"} ');
    assert.equal(paramsText(item), '{}');
    assert.equal(item.id, undefined);
  });

  for (const [params, kind] of [
    ['[1,2]', 'array'],
    ['null', 'null'],
    ['"x"', 'string'],
    ['3', 'number'],
    ['true', 'boolean'],
    ['[]', 'array'],
  ]) {
    test(`with params ${params} reports the type that was sent`, () => {
      assert.equal(request(`{"jsonrpc":"2.0","method":"a.b","params":${params},"id":1}`).params, kind);
    });
  }

  for (const id of ['1', '"1"', 'null', '1.5', '-0', '1e400', '12345678901234567890123', '"\\u0041\\n"', '"ü"', '""', '0.10']) {
    test(`echoes the id ${id} unchanged`, () => {
      assert.equal(idText(request(`{"jsonrpc":"2.0","id" : ${id} ,"method":"a.b"}`)), id);
      assert.equal(idText(request(`{"jsonrpc":"2.0","method":"a.b","id":${id}}`)), id);
    });
  }

  for (const id of ['{}', '[]', 'true', 'false', '[1]', '{"id":1}']) {
    test(`with the id ${id} is invalid and answered with null`, () => {
      assert.deepEqual(refusal(`{"jsonrpc":"2.0","method":"a.b","id":${id}}`), { fault: INVALID_REQUEST, id: 'null' });
    });
  }

  test('with repeated names uses the last member', () => {
    const item = request('{"jsonrpc":"2.0","method":"a.a","id":1,"params":{"a":1},"method":"a.b","params":{"b":2},"id":2}');
    assert.deepEqual([item.method, item.id, paramsText(item)], ['a.b', '2', '{"b":2}']);
  });

  test('accepts escapes in member names', () => {
    const item = request('{"jsonrpc":"2.0","method":"a.b","\\u0069d":5,"p\\u0061rams":{"a":1},"i\\"d":6}');
    assert.deepEqual([item.id, paramsText(item)], ['5', '{"a":1}']);
  });

  test('accepts escapes and any script in the method', () => {
    assert.equal(request('{"jsonrpc":"2\\u002e0","method":"a\\u002eb\\n","id":1}').method, 'a.b\n');
    assert.equal(request('{"jsonrpc":"2.0","method":"zoë.☃","id":1}').method, 'zoë.☃');
  });

  test('treats empty params like missing params', () => {
    assert.equal(request('{"jsonrpc":"2.0","method":"a.b","params":{},"id":1}').params, NO_PARAMS);
    assert.equal(request('{"jsonrpc":"2.0","method":"a.b","id":1}').params, NO_PARAMS);
  });

  test('ignores member names inside strings and nested objects', () => {
    const item = request(
      '{"jsonrpc":"2.0","method":"a.b","x":{"id":9,"params":{}},"y":"\\",\\"id\\":8","params":{"id":7,"params":{"id":6}}}',
    );
    assert.equal(item.id, undefined);
    assert.equal(paramsText(item), '{"id":7,"params":{"id":6}}');
  });

  test('cannot reach a prototype', () => {
    const item = request('{"__proto__":{"id":1},"jsonrpc":"2.0","method":"a.b","params":{"__proto__":{"polluted":true}}}');
    assert.equal(item.id, undefined);
    assert.equal(paramsText(item), '{"__proto__":{"polluted":true}}');
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.deepEqual(refusal('{"__proto__":{"jsonrpc":"2.0","method":"a.b"},"id":3}'), { fault: INVALID_REQUEST, id: '3' });
  });
});

describe('an invalid message', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '[',
    '{"a":}',
    'nul',
    '\u00a0{}',
    '\ufeff{}',
    '{"a":1}{}',
    '{"a":1 "b":2}',
    '{"a":1;"b":2}',
    '{"a":1,}',
    '{,"a":1}',
    '[{} {}]',
    '[{};{}]',
    '[{},]',
    '[{}',
    '[1,{"a":1},',
    '[1,]',
    "{'a':1}",
    '{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]',
  ]) {
    test(`${JSON.stringify(text)} is a parse error`, () => {
      assert.deepEqual(refusal(text), { fault: PARSE_ERROR, id: 'null' });
    });
  }

  test('invalid UTF-8 is a parse error', () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","method":"a.b","params":{"x":"_"},"id":1}');
    bytes[bytes.indexOf('_')] = 0xff;
    assert.deepEqual(readEnvelope(bytes, 50), { fault: PARSE_ERROR, id: 'null' });
  });

  for (const text of [
    '1',
    '"x"',
    'null',
    'true',
    '[]',
    '{}',
    '{"foo":"boo"}',
    '{"jsonrpc":"2.0","method":1,"params":"bar"}',
    '{"jsonrpc":"1.0","method":"a.b"}',
  ]) {
    test(`${text} is invalid`, () => {
      assert.deepEqual(refusal(text), { fault: INVALID_REQUEST, id: 'null' });
    });
  }

  test('returns the id of an invalid request', () => {
    assert.deepEqual(refusal('{"method":"a.b","id":"x"}'), { fault: INVALID_REQUEST, id: '"x"' });
  });
});

describe('nesting', () => {
  const nested = (levels: number, open = '[', close = ']'): string =>
    `{"jsonrpc":"2.0","method":"a.b","id":1,"params":{"x":${open.repeat(levels)}${close.repeat(levels)}}}`;

  test('is accepted up to MAX_DEPTH and refused beyond', () => {
    assert.equal(request(nested(MAX_DEPTH - 2)).id, '1');
    assert.deepEqual([refusal(nested(MAX_DEPTH - 1)).fault.number, refusal(nested(MAX_DEPTH - 1)).id], [-32600, '1']);
  });

  test('ignores brackets in strings', () => {
    assert.equal(request(`{"jsonrpc":"2.0","method":"a.b","id":1,"params":{"x":"${'['.repeat(200)}"}}`).id, '1');
  });

  for (const levels of [100_000, 500_000]) {
    test(`a batch of ${levels} nested arrays is rejected without recursion`, () => {
      assert.equal(refusal(nested(levels)).fault.number, -32600);
      assert.equal(refusal('['.repeat(levels)).fault.number, -32700);
      const bare = read('['.repeat(levels) + ']'.repeat(levels));
      assert.deepEqual(bare, [{ fault: INVALID_REQUEST, id: 'null' }]);
    });
  }
});

describe('a batch', () => {
  test('keeps its order and refuses each invalid member separately', () => {
    const items = read(
      ' [ {"jsonrpc":"2.0","method":"a.a","id":"1"} , {"jsonrpc":"2.0","method":"a.n"},{"foo":"boo"},[1,{"id":5}],1 ,"x]",{"jsonrpc":"2.0","method":"a.b","params":{"k":1},"id":2} ] ',
    );
    assert.ok(Array.isArray(items));
    assert.deepEqual(
      items.map((item) => (item.fault ? [item.fault.number, item.id] : [item.method, item.id, paramsText(item)])),
      [
        ['a.a', '"1"', '{}'],
        ['a.n', undefined, '{}'],
        [-32600, 'null'],
        [-32600, 'null'],
        [-32600, 'null'],
        [-32600, 'null'],
        ['a.b', '2', '{"k":1}'],
      ],
    );
  });

  test('does not leak members of one request into the next', () => {
    const items = read('[{"jsonrpc":"2.0","method":"a.a","id":1,"params":{"a":1}},{"jsonrpc":"2.0","method":"a.b"}]');
    assert.ok(Array.isArray(items));
    assert.deepEqual(
      items.map((item) => (item.fault ? item : [item.id, paramsText(item)])),
      [
        ['1', '{"a":1}'],
        [undefined, '{}'],
      ],
    );
  });

  test('refuses only the member that is nested too deeply', () => {
    const deep = `{"jsonrpc":"2.0","method":"a.b","id":1,"params":{"x":${'['.repeat(80)}${']'.repeat(80)}}}`;
    const items = read(`[${deep},{"jsonrpc":"2.0","method":"a.c","id":2}]`);
    assert.ok(Array.isArray(items));
    assert.deepEqual(
      items.map((item) => item.fault?.number),
      [-32600, undefined],
    );
  });

  test('above maxBatchSize is one refusal with both sizes', () => {
    const envelope = read(`[${Array(4).fill('1').join(',')}]`, 3);
    assert.ok(!Array.isArray(envelope) && envelope.fault !== undefined);
    assert.equal(envelope.fault.number, -32600);
    assert.match(envelope.fault.message, /\b4\b.*\b3\b/);
    assert.equal(envelope.id, 'null');
  });
});

describe('property', () => {
  const json = fc.jsonValue({ maxDepth: 6 });
  const id = fc.option(fc.oneof(fc.integer(), fc.string({ unit: 'binary' }), fc.double({ noNaN: true, noDefaultInfinity: true })), {
    nil: null,
  });
  const stringify = (value: unknown, indent: string): string => JSON.stringify(value, undefined, indent);
  const message = fc.record({
    params: fc.dictionary(fc.string({ unit: 'binary' }), json),
    id,
    extra: json,
    indent: fc.constantFrom('', ' ', '\t'),
  });

  test('id and params are sliced exactly as JSON.parse sees them', () => {
    fc.assert(
      fc.property(message, ({ params, id, extra, indent }) => {
        const item = request(stringify({ extra, method: 'a.b', params, id, jsonrpc: '2.0' }, indent));
        assert.deepEqual(JSON.parse(paramsText(item) ?? ''), JSON.parse(JSON.stringify(params)));
        assert.deepEqual(JSON.parse(idText(item) ?? ''), JSON.parse(JSON.stringify(id)));
      }),
    );
  });

  test('accepts a mutated message exactly when JSON.parse does', () => {
    const pieces = ['{', '}', '[', ']', '"', ',', ':', '\\', ' ', '1', '-', 'e', 'null', '"id":2,', ',"id":2', '{}', '[]'];
    const messages = fc.array(fc.record({ params: fc.object({ maxDepth: 2 }), id }), { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(messages, fc.boolean(), damage(pieces), (members, single, damaged) => {
        const full = members.map((member) => ({ jsonrpc: '2.0', method: 'a.b', ...member }));
        const text = Buffer.from(damaged(JSON.stringify(single ? full[0] : full))).toString();
        const envelope = read(text);
        const isBroken = !Array.isArray(envelope) && envelope.fault === PARSE_ERROR;
        assert.equal(isBroken, !parses(text), text);
      }),
      { numRuns: 3_000 },
    );
  });

  test('parses the members of a batch like single messages', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, message), { minLength: 1, maxLength: 8 }), (members) => {
        const batch = members.map((member) =>
          isRecord(member) && 'params' in member ? { ...member, jsonrpc: '2.0', method: 'a.b' } : member,
        );
        const items = readEnvelope(Buffer.from(JSON.stringify(batch)), 50);
        assert.ok(Array.isArray(items));
        assert.deepEqual(
          items,
          JSON.parse(JSON.stringify(batch)).map((member: unknown) => readAlone(member)),
        );
      }),
    );
  });

  test('never throws for any bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          fc.string().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          readEnvelope(bytes, 50);
        },
      ),
    );
  });

  function isRecord(value: unknown): value is Record<string, unknown> {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }

  // A member that is an array would be a batch by itself.
  function readAlone(member: unknown): unknown {
    return Array.isArray(member) ? { fault: INVALID_REQUEST, id: 'null' } : readEnvelope(Buffer.from(JSON.stringify(member)), 50);
  }
});
