import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { connectBus, type Bucket, type Bus } from '@switchyard/bus';
import { TOKENS_BUCKET, type TokenProjection } from '@switchyard/contracts';
import { watchReplicas } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { openNats } from '@switchyard/testkit';
import { chatUrl, rest } from './clients.ts';
import { startEmbedded, type Running } from './embedded.ts';
import { sendRequest, call, one, openExchange, request } from './exchange.ts';
import { isNamed, listen } from './listening.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const config = { agents: { default: {}, tools: { provider: 'dev', model: 'tools' } } };
const KINDS = ['tenant', 'own'] as const;
type Kind = (typeof KINDS)[number];

/** A client of the product. */
interface Client extends Running {
  id: string;
  key: string;
}

/** The response of a route about a session: an answer, or not found. */
type Route = (client: Client, key: string) => Promise<'answers' | 'NOT_FOUND'>;

const ofCode = (code: unknown, told: unknown): 'answers' | 'NOT_FOUND' => {
  if (code === undefined) return 'answers';
  assert.equal(code, 'NOT_FOUND', JSON.stringify(told));
  assert.match(JSON.stringify(told), /Session not found\./);
  return 'NOT_FOUND';
};

const ofStatus = (status: number, told: unknown) => ofCode(status === 200 ? undefined : status === 404 ? 'NOT_FOUND' : status, told);

const rpc =
  (method: string, params: (key: string) => object): Route =>
  async (client, key) => {
    const { error } = await sendRequest(client, method, params(key));
    return ofCode(error?.data?.['code'], error);
  };

async function overWebSocket(client: Client, key: string) {
  await using socket = await openExchange('ws', client);
  const { error } = one(await socket.say(request('session.history', { session_key: key })));
  return ofCode(error?.data?.['code'], error);
}

async function chat(client: Client, key: string) {
  const { status, body } = await rest(client, '/api/chat', { message: 'hello', sessionKey: key });
  return ofStatus(status, body);
}

async function chatStream(client: Client, key: string) {
  const response = await fetch(chatUrl(client, { message: 'hello', sessionKey: key }));
  return ofStatus(response.status, await response.text());
}

/** Calls a tool of the agent in a turn that is not stored. */
async function completion(client: Client, key: string) {
  const text = await complete(client, `session_history ${JSON.stringify({ session_key: key })}`);
  return text.includes('NOT_FOUND') ? ofCode('NOT_FOUND', text) : 'answers';
}

async function complete(client: Client, content: string): Promise<string> {
  const { status, body } = await rest(client, '/v1/chat/completions', { model: 'tools', messages: [{ role: 'user', content }] });
  assert.equal(status, 200, JSON.stringify(body));
  return JSON.stringify(body);
}

const routes: Record<string, Route> = {
  'POST /rpc session.history': rpc('session.history', (session_key) => ({ session_key })),
  'POST /rpc session.export': rpc('session.export', (session_key) => ({ session_key })),
  'POST /rpc session.send': rpc('session.send', (key) => ({ key, message: 'hello' })),
  'POST /rpc session.reset': rpc('session.reset', (session_key) => ({ session_key })),
  'GET /ws': overWebSocket,
  'POST /api/chat': chat,
  'GET /api/chat/stream': chatStream,
  'POST /v1/chat/completions': completion,
};

describe('session ownership on every route', { skip: NATS_OFF, timeout: 60_000 }, () => {
  const stack = new AsyncDisposableStack();
  let product: Running;
  let bus: Bus;
  let bucket: Bucket;
  before(async () => {
    const server = await openNats();
    stack.defer(() => server.stop());
    product = stack.use(await startEmbedded({ config, env: { SWITCHYARD_BUS: server.url } }));
    bus = await connectBus(server.url, { service: 'secrets', log: silentLogger() });
    stack.defer(() => bus.drain());
    bucket = await bus.kv(TOKENS_BUCKET);
  });
  after(() => stack.disposeAsync());

  let createdCount = 0;

  /** Publishes a token to the gateways as the secrets service does. */
  async function newClient(sessions: Kind, id = `client-${++createdCount}`, client = id): Promise<Client> {
    const token = `test-${randomBytes(24).toString('hex')}`;
    const hash = createHash('sha256').update(token).digest('hex');
    const entry: TokenProjection = { id, hash, scopes: ['*'], tenant: 'default', client, sessions, lenient: false, ver: ++createdCount };
    const revision = await bucket.put(`default.${id}`, Buffer.from(JSON.stringify(entry)));
    using replicas = await watchReplicas(bus, TOKENS_BUCKET);
    assert.ok(await replicas.awaitRevision({ service: 'gateway', revision, timeoutMs: 5_000 }));
    return { ...product, token, id, key: `default:${client}:gateway` };
  }

  /** A client with a message in its own session. */
  async function speaker(sessions: Kind): Promise<Client> {
    const client = await newClient(sessions);
    assert.equal(await chat(client, client.key), 'answers');
    return client;
  }

  for (const kind of KINDS) {
    for (const [name, route] of Object.entries(routes)) {
      test(`${name} (${kind})`, async () => {
        const [mine, other] = [await speaker(kind), await speaker('tenant')];
        assert.deepEqual(
          [await route(mine, mine.key), await route(mine, other.key), await route(mine, `acme:${other.id}:gateway`)],
          ['answers', kind === 'own' ? 'NOT_FOUND' : 'answers', 'NOT_FOUND'],
        );
      });
    }

    test(`a request without a session uses the client’s own, or none (${kind})`, async () => {
      const [mine, other, newcomer] = [await speaker(kind), await speaker('tenant'), await newClient(kind)];
      await call(other, 'session.send', { key: other.key, message: 'the newest of all' });
      const readText = async (client: Client) => (await rest(client, '/api/chat/history')).body['messages'] as { content: string }[];
      assert.equal((await readText(mine)).length, 2);
      assert.deepEqual(await readText(newcomer), []);
      assert.deepEqual(await call(newcomer, 'session.history'), { messages: [] });
      assert.doesNotMatch(await complete(newcomer, 'session_history {}'), /newest of all/);
      const { sessions } = await call<{ sessions: { sessionKey: string }[] }>(mine, 'session.list');
      const keys = sessions.map(({ sessionKey }) => sessionKey);
      assert.equal(keys.includes(other.key), kind === 'tenant');
      if (kind === 'own') assert.deepEqual(keys, [mine.key]);
    });

    test(`a client cannot resume a turn of another client (${kind})`, async () => {
      const [mine, other] = [await speaker(kind), await speaker('tenant')];
      using theirs = listen(chatUrl(other, { message: 'hello' }));
      const { id } = await theirs.until(isNamed('token'));
      const back = async (client: Client) =>
        (await fetch(chatUrl(client, { message: 'hello' }), { headers: { 'last-event-id': id } })).status;
      assert.deepEqual([await back(other), await back(mine)], [200, 204]);
    });

    test(`a token with a reused id has no access to the old token’s sessions (${kind})`, async () => {
      const old = await speaker('tenant');
      const again = await newClient(kind, old.id, `${old.id}-2`);
      assert.deepEqual(await call(again, 'session.history'), { messages: [] });
      assert.equal(await overWebSocket(again, old.key), kind === 'own' ? 'NOT_FOUND' : 'answers');
    });
  }
});
