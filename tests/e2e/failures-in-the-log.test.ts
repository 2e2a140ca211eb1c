import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startUpstream, type Upstream } from '@switchyard/testkit';
import { chatUrl } from './clients.ts';
import { linesWritten, type Running } from './embedded.ts';
import { sendRequest, many, mint, one, openExchange, openSocket, request, type Answer } from './exchange.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const INFO = 30;
/** Many rejections within a second are logged together. */
const WITHIN_MS = 5_000;
const SECRET_LIKE = `sk-${'looks-like-a-key-'.repeat(2)}`;

interface Line {
  level: number;
  requestId?: string;
  requestIds?: string[];
  turnId?: string;
  code?: string;
  error?: string;
  msg?: string;
}

/** The error that a client received, with its ids. */
interface Shown {
  what: string;
  requestId?: string | undefined;
  turnId?: string | undefined;
  code?: unknown;
}

let upstream: Upstream;

onEachProfile(
  'error ids in the log',
  (product) => {
    test('logs the ids of calls that the gateway rejects', async () => {
      const { secret } = await mint(product, 'rpc');
      const errors = await Promise.all([
        over('http', product, request('no.such.method')),
        over('http', product, request('agent.execute', [1])),
        over('http', product, '{"jsonrpc":'),
        over('http', product, '[]'),
        over('http', product, request('channels.list')),
        over('http', product, request('tokens.list'), secret),
        over('ws', product, request('no.such.method')),
        over('ws', product, '{"jsonrpc":'),
        over('ws', product, request('tokens.list'), secret),
      ]);
      await assertLogged(product, errors.flat());
    });

    test('logs the ids of calls that a service rejects, single and in a batch', async () => {
      const wrong = [request('agent.execute', { message: 7 }), request('session.export', { session_key: 'default:nobody:gateway' })];
      const batch = `[${[...wrong, request('no.such.method')].join(',')}]`;
      for (const transport of ['http', 'ws'] as const) {
        for (const message of [...wrong, batch]) await assertLogged(product, await over(transport, product, message));
      }
    });

    test('logs the ids of invalid requests', async () => {
      const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
      const tries: [path: string, init: RequestInit, status: number][] = [
        ['/rpc', { method: 'POST', body: '{}' }, 401],
        ['/rpc', { method: 'POST', body: '{}', headers: { ...headers, 'content-type': 'text/plain' } }, 415],
        ['/rpc', { method: 'POST', body: 'x'.repeat(2_000_000), headers }, 413],
        ['/rpc', { method: 'POST', body: '{}', headers: { ...headers, origin: 'https://elsewhere.example' } }, 403],
        ['/nowhere', { headers }, 404],
        ['/ws', { headers }, 426],
        ['/%zz', { headers }, 400],
        ['/api/chat', { method: 'POST', body: '{', headers }, 400],
        ['/api/chat', { method: 'POST', body: '{}' }, 401],
        ['/api/chat', { method: 'POST', body: '{"message":""}', headers: { ...headers, 'x-request-id': 'my-own.id_7' } }, 400],
        ['/api/chat/stream', { headers }, 400],
        ['/v1/chat/completions', { method: 'POST', body: '{"messages":[]}', headers }, 400],
        ['/v1/models/none', { headers }, 404],
      ];
      const shown = await Promise.all(
        tries.map(async ([path, init, status]) => {
          const response = await fetch(product.url + path, init);
          assert.equal(response.status, status, `${path}: ${await response.text()}`);
          return { what: `${status} ${path}`, requestId: response.headers.get('x-request-id') ?? undefined };
        }),
      );
      assert.ok(shown.some(({ requestId }) => requestId === 'my-own.id_7'));
      await assertLogged(product, shown);
      await assertLogged(product, [await foreignHost(product)]);
    });

    test('replaces a client’s request id that looks like a secret', async () => {
      const headers = { 'x-request-id': SECRET_LIKE, 'content-type': 'application/json' };
      for (const path of ['/rpc', '/api/chat']) {
        const response = await fetch(product.url + path, { method: 'POST', body: '{}', headers });
        const requestId = response.headers.get('x-request-id') ?? '';
        assert.match(requestId, /^req_/);
        await assertLogged(product, [{ what: path, requestId }]);
      }
      assert.ok(!(await linesWritten(product)).some((line) => line.includes(SECRET_LIKE)));
    });

    test('logs the ids of failed turns on every route', async () => {
      upstream.respond({ kind: 'status', status: 400, message: 'out of order' });
      const body = JSON.stringify({ message: 'hello' });
      const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
      const { error } = await sendRequest(product, 'agent.execute', { message: 'hello' });
      const posted = await fetch(`${product.url}/api/chat`, { method: 'POST', body, headers });
      const completion = await fetch(`${product.url}/v1/chat/completions`, { method: 'POST', body: getCompletion(false), headers });
      assert.deepEqual([posted.ok, completion.ok], [false, false]);
      using stream = listen(chatUrl(product, { message: 'hello' }));
      const event = (await stream.until(isNamed('error'))).data;
      await assertLogged(product, [
        shownBy('agent.execute', error),
        { what: '/api/chat', requestId: posted.headers.get('x-request-id') ?? '' },
        { what: '/v1', requestId: completion.headers.get('x-request-id') ?? '' },
        { what: '/api/chat/stream', requestId: String(event['requestId']), turnId: String(event['turnId']), code: event['code'] },
      ]);
      const own = await failedTurns(product, 3);
      assert.equal(own.length, 3, 'each turn that is kept says it by itself, whether or not anybody still waits for it');
      assert.ok(
        own.every(({ requestId }) => requestId !== undefined),
        'and who asked for it',
      );
    });

    test('logs the ids of an interrupted /v1 stream', async () => {
      upstream.respond({ kind: 'cut', text: 'Hello from the model upstream.', afterTokens: 3 });
      const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
      const response = await fetch(`${product.url}/v1/chat/completions`, { method: 'POST', body: getCompletion(true), headers });
      assert.match(await response.text(), /"error":/);
      const requestId = response.headers.get('x-request-id') ?? '';
      await assertLogged(product, [{ what: 'error frame', requestId, code: 'UNAVAILABLE' }]);
    });

    test('logs the ids of a WebSocket that receives a binary frame', async () => {
      await using socket = await openSocket(product, product.token);
      socket.send(Buffer.from([1, 2, 3]));
      const { error } = JSON.parse(await socket.next()) as Answer;
      await assertLogged(product, [shownBy('binary', error)]);
    });
  },
  {
    async start(stack) {
      upstream = stack.use(await startUpstream());
      const entries = { lab: { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: 'one' }] } };
      return { config: { providers: { entries }, agents: { default: { provider: 'lab', model: 'one' } } } };
    },
  },
);

const MOST = 20;
const FLOOD = 1_000;
const CLIENTS = 10;

onEachProfile(
  'a flood',
  (product, profile) => {
    test('logs every id of a flood of rejections in few lines', async () => {
      const body = '{"jsonrpc":"2.0","method":"system.ping","id":1}';
      const headers = { authorization: `Bearer ${product.token}`, 'content-type': 'application/json' };
      const shown: Shown[] = [];
      async function send(): Promise<void> {
        for (let sent = 0; sent < FLOOD / CLIENTS; sent++) {
          const response = await fetch(`${product.url}/rpc`, { method: 'POST', body, headers });
          await response.arrayBuffer();
          if (response.status === 429) shown.push({ what: '429', requestId: response.headers.get('x-request-id') ?? '' });
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, send));
      const through = FLOOD - shown.length;
      // Gateways tell each other what they let through a moment later; the launcher asked under the same token, more often if it waited.
      const [least, max] = profile === 'cluster' ? [1, 2 * MOST] : [MOST, MOST];
      assert.ok(through >= least && through <= max, `${through} were let through`);
      await assertLogged(product, shown);
      const lines = (await getLines(product)).filter(({ code }) => code === 'RESOURCE_EXHAUSTED');
      assert.ok(lines.length < shown.length / 2, `${lines.length} lines for ${shown.length} refusals`);
    });
  },
  { start: () => ({ env: { SWITCHYARD_GATEWAY__RATE_LIMIT__MAX_REQUESTS: String(MOST) } }) },
);

function getCompletion(stream: boolean): string {
  return JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'hello' }], stream });
}

/** The errors in the response to a message. */
async function over(transport: 'http' | 'ws', product: Running, message: string, token?: string): Promise<Shown[]> {
  await using client = await openExchange(transport, product, token);
  const said = await client.say(message);
  const answers = Array.isArray(said) ? many(said) : [one(said)];
  return answers.map(({ error }) => shownBy(`${transport} ${message.slice(0, 80)}`, error));
}

function shownBy(description: string, error: Answer['error']): Shown {
  assert.ok(error?.data, `${description} is an error with data`);
  const { requestId, turnId, code } = error.data;
  assert.ok(typeof requestId === 'string' && requestId !== '');
  return { what: description, requestId, code, ...(typeof turnId === 'string' ? { turnId } : {}) };
}

/** Headers of a page after DNS rebinding. */
async function foreignHost({ url }: Running): Promise<Shown> {
  const sent = httpRequest(`${url}/api/chat`, { method: 'OPTIONS', headers: { host: 'rebound.example' } }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  assert.equal(response.statusCode, 403);
  return { what: 'foreign host', requestId: String(response.headers['x-request-id']) };
}

/** The servers' own log files do not count. */
async function getLines(product: Running): Promise<Line[]> {
  const ours = (await linesWritten(product)).filter((line) => line.startsWith('{'));
  return ours.map((line) => JSON.parse(line) as Line).filter(({ level }) => level >= INFO);
}

/** Asserts that every id is in a log record of level info or above, with code and message of the error. */
async function assertLogged(product: Running, shown: readonly Shown[]): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const lines = await getLines(product);
    const missing = shown.filter((one) => !isIn(lines, one));
    if (missing.length === 0) return;
    assert.ok(performance.now() < deadline, `not in the log: ${JSON.stringify(missing.slice(0, 5))} of ${missing.length}`);
    await pause(50);
  }
}

/** The log records of turns that failed upstream. Other processes write theirs later. */
async function failedTurns(product: Running, count: number): Promise<Line[]> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    const lines = (await getLines(product)).filter(({ turnId, error }) => turnId !== undefined && error?.includes('out of order'));
    const own = lines.filter(({ msg }) => msg === 'turn failed');
    if ((own.length >= count && lines.length > count) || performance.now() > until) return own;
    await pause(50);
  }
}

function isIn(lines: readonly Line[], { requestId, turnId, code }: Shown): boolean {
  const told = lines.filter((line) => (code === undefined ? line.code !== undefined : line.code === code) && line.error !== undefined);
  const byRequest = requestId === undefined || told.some((line) => line.requestId === requestId || line.requestIds?.includes(requestId));
  return byRequest && (turnId === undefined || told.some((line) => line.turnId === turnId));
}
