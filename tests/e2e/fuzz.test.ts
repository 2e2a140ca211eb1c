import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicMethods } from '@switchyard/contracts';
import fc from 'fast-check';
import { post } from './embedded.ts';
import { CODES, openSocket, request, TRANSPORTS, type Answer } from './exchange.ts';
import { onEachProfile } from './profiles.ts';
import { isQuick } from './suite.ts';

/** Frames per transport and profile. */
const FRAMES = isQuick() ? 300 : 1_500;
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const HANG_MS = 20_000;

const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.WeightedArbitrary<T> => ({ weight, arbitrary });

/** Methods without lasting effects: reads and rejected calls. */
const method = fc.oneof(
  often(
    8,
    fc.constantFrom('system.ping', 'session.history', 'session.status', 'session.export', 'tokens.list', 'models.list', 'agents.get'),
  ),
  often(2, fc.constantFrom(...[...publicMethods.keys()].filter((name) => name.startsWith('obs.')))),
  often(2, fc.constantFrom('turns.start', '__proto__', 'constructor', '.', '$SRV.PING', 'rpc.>', 'session.history\n', '')),
  fc.string(),
  fc.jsonValue(),
);
const key = fc.oneof(
  often(4, fc.constantFrom('channelId', 'session_key', 'agentId', 'provider')),
  fc.constantFrom('__proto__', 'constructor'),
  fc.string(),
);
const params = fc.oneof(
  often(3, fc.constant({})),
  often(3, fc.dictionary(key, fc.string({ minLength: 1 }), { maxKeys: 2 })),
  fc.dictionary(key, fc.jsonValue()),
  fc.jsonValue(),
);
const id = fc.oneof(
  often(4, fc.integer()),
  often(4, fc.string()),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.jsonValue(),
);
const call = fc.record({ jsonrpc: fc.constant('2.0'), method, params, id }, { requiredKeys: ['jsonrpc', 'method'] });
const envelope = fc.oneof(often(6, call), fc.record({ jsonrpc: fc.jsonValue(), method, params, id }, { requiredKeys: [] }));
const batch = fc.array(fc.oneof(often(6, envelope), fc.jsonValue()), { maxLength: 6 });
const grammar = fc.oneof(often(6, envelope), often(3, batch), fc.jsonValue()).map((message) => JSON.stringify(message));

/** Changes, adds or drops a few bytes of a message. */
const mutated = fc
  .tuple(grammar, fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(2)), { minLength: 1, maxLength: 4 }))
  .map(([text, changes]) => {
    const bytes = [...Buffer.from(text)];
    for (const [at, byte, how] of changes) bytes.splice(at % (bytes.length + 1), how === 1 ? 0 : 1, ...(how === 2 ? [] : [byte]));
    return Buffer.from(bytes);
  });
const noise = fc.string({ unit: 'binary' });
const frame = fc.oneof(
  often(
    6,
    grammar.map((text) => Buffer.from(text)),
  ),
  often(4, mutated),
  noise.map((text) => Buffer.from(text)),
);

onEachProfile('fuzzed frames follow the protocol', (product) => {
  for (const transport of TRANSPORTS) {
    test(`${FRAMES} frames over ${transport}, seed ${SEED}`, async () => {
      await using client = transport === 'http' ? overHttp() : await overWebSocket();
      const property = fc.asyncProperty(frame, async (options) => {
        const bytes = transport === 'http' ? options : Buffer.from(options.toString()); // an invalid UTF-8 text frame would close the connection
        const text = await client.send(bytes);
        if (text !== undefined) judge(bytes, text);
      });
      await fc.assert(property, { seed: SEED, numRuns: FRAMES, endOnFailure: true, timeout: HANG_MS });
      assert.match((await client.send(Buffer.from(request('system.ping', {}, 'alive')))) ?? '', /"pong":true.*"alive"/);
    });
  }

  function overHttp(): Fuzzed {
    return {
      async send(bytes) {
        const { status, text } = await post(product, bytes);
        if (isAnswered(bytes)) assert.equal(status, 200, text);
        else assert.deepEqual([status, text], [204, '']);
        return status === 200 ? text : undefined;
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  /** A response to a frame that must have none appears before the next response. */
  async function overWebSocket(): Promise<Fuzzed> {
    const socket = await openSocket(product, product.token);
    return {
      async send(bytes) {
        socket.send(bytes.toString());
        return isAnswered(bytes) ? socket.next() : undefined;
      },
      [Symbol.asyncDispose]: () => socket[Symbol.asyncDispose](),
    };
  }
});

interface Fuzzed extends AsyncDisposable {
  /** Returns the response, or undefined for a frame without one. */
  send(bytes: Buffer): Promise<string | undefined>;
}

/** Whether a frame gets a response: all frames except notifications. */
function isAnswered(bytes: Buffer): boolean {
  const sent = parsed(bytes);
  return Array.isArray(sent) ? sent.length === 0 || !sent.every(isNotification) : !isNotification(sent);
}

function isNotification(message: unknown): boolean {
  if (typeof message !== 'object' || message === null || Object.hasOwn(message, 'id')) return false;
  const { jsonrpc, method } = message as Record<string, unknown>;
  return jsonrpc === '2.0' && typeof method === 'string';
}

function judge(bytes: Buffer, text: string): void {
  assert.doesNotMatch(text, /\bat \S+ \(|\.ts:\d|node_modules/, 'a stack is in the answer');
  const sent = parsed(bytes);
  const said = JSON.parse(text) as Answer | Answer[];
  const ids = (Array.isArray(sent) ? sent : [sent]).map((message: unknown) => (message as { id?: unknown } | null)?.id ?? null);
  for (const { id, error, result } of Array.isArray(said) ? said : [said]) {
    assert.ok(error === undefined || CODES.includes(error.code), text);
    assert.notEqual(error === undefined, result === undefined, text);
    assert.ok(id === null || ids.includes(id as never), `the id of ${text} was never sent: ${bytes.toString()}`);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined; // the response must have the id null
  }
}
