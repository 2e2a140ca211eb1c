import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { connectBus, createMemoryHub } from '@switchyard/bus';
import { TICKETS_BUCKET, TOKENS_BUCKET, TOKENS_COMPLETE_KEY, type TokenProjection } from '@switchyard/contracts';
import { hashToken } from '@switchyard/security';
import { createLogger, silentLogger } from '@switchyard/telemetry';
import { SECRETS, startTestGateway, type TestGateway } from '../gateway.fixture.ts';
import { openTickets, type Ticket } from './tickets.ts';
import { openTokens } from './tokens.ts';
import type { Caller } from '../request/caller.ts';

const PING = { jsonrpc: '2.0', method: 'system.ping', id: 1 };
const HISTORY = { jsonrpc: '2.0', method: 'config.read', id: 2 };

async function issueTicket(gateway: TestGateway, token: string = SECRETS.rpc, origin?: string): Promise<string> {
  const response = await gateway.post('/api/tickets', '', { token, ...(origin === undefined ? {} : { headers: { origin } }) });
  assert.deepEqual([response.status, response.headers.get('cache-control')], [201, 'no-store']);
  const { ticket, expiresAt } = (await response.json()) as Ticket;
  assert.ok(expiresAt > Date.now() && expiresAt <= Date.now() + 60_000);
  return ticket;
}

const openEvents = async (gateway: TestGateway, ticket: string, headers: Record<string, string> = {}): Promise<number> => {
  const response = await fetch(`${gateway.url}/api/events?ticket=${ticket}`, { headers });
  await response.body?.cancel();
  return response.status;
};

test('a ticket opens one WebSocket with the rights of its caller', async () => {
  await using gateway = await startTestGateway();
  const ticket = await issueTicket(gateway);
  const socket = await gateway.connect('', `/ws?ticket=${ticket}`);
  assert.match(JSON.stringify(await socket.request(PING)), /"pong":true/);
  assert.match(JSON.stringify(await socket.request(HISTORY)), /Insufficient scope: requires 'admin'/);
  const second = await gateway.connect('', `/ws?ticket=${ticket}`);
  assert.equal((await second.closed).code, 4001);
});

test('a ticket opens one stream, and is refused where a query token is refused', async () => {
  await using gateway = await startTestGateway();
  const ticket = await issueTicket(gateway);
  assert.equal((await fetch(`${gateway.url}/api/agents?ticket=${ticket}`)).status, 401);
  assert.deepEqual([await openEvents(gateway, ticket), await openEvents(gateway, ticket)], [200, 401]);
  for (const bad of ['', 'ticket_x', `ticket_${'0'.repeat(22)}`, SECRETS.rpc]) assert.equal(await openEvents(gateway, bad), 401, bad);
});

test('a ticket of an mcp-client token opens no stream', async () => {
  await using gateway = await startTestGateway();
  assert.equal(await openEvents(gateway, await issueTicket(gateway, SECRETS.mcp)), 403);
});

test('a ticket ends when its token is revoked or rotated', async () => {
  await using gateway = await startTestGateway();
  const [revoked, rotated] = [
    { id: 'revoked', secret: 'a-secret-that-will-be-revoked-000001' },
    { id: 'rotated', secret: 'a-secret-that-will-be-rotated-000002' },
  ];
  await gateway.putToken({ ...revoked, scopes: ['rpc'] });
  await gateway.putToken({ ...rotated, scopes: ['*'], ver: 1 });
  const tickets = [await issueTicket(gateway, revoked.secret), await issueTicket(gateway, rotated.secret)];
  await gateway.removeToken('revoked');
  await gateway.putToken({ id: 'rotated', secret: 'the-secret-that-it-was-rotated-to-03', scopes: ['rpc'], ver: 2 });
  for (const ticket of tickets) assert.equal(await openEvents(gateway, ticket), 401);
});

test('closes a WebSocket opened by a ticket when the token is revoked', async () => {
  await using gateway = await startTestGateway();
  const secret = 'a-secret-that-will-be-revoked-000001';
  await gateway.putToken({ id: 'gone', secret, scopes: ['rpc'] });
  const socket = await gateway.connect('', `/ws?ticket=${await issueTicket(gateway, secret)}`);
  await socket.request(PING);
  await gateway.removeToken('gone');
  socket.send(JSON.stringify(PING));
  assert.equal((await socket.closed).code, 4001);
});

test('a ticket is refused for another origin and used up by the attempt', async () => {
  await using gateway = await startTestGateway();
  const [ownOrigin, otherOrigin] = [gateway.url, 'https://other.example'];
  gateway.settings.set({ corsOrigins: [otherOrigin] });
  const ticket = await issueTicket(gateway, SECRETS.rpc, ownOrigin);
  assert.deepEqual(
    [await openEvents(gateway, ticket, { origin: otherOrigin }), await openEvents(gateway, ticket, { origin: ownOrigin })],
    [401, 401],
  );
  assert.equal(await openEvents(gateway, await issueTicket(gateway, SECRETS.rpc, ownOrigin), { origin: ownOrigin }), 200);
  assert.equal(
    await openEvents(gateway, await issueTicket(gateway, SECRETS.rpc, ownOrigin)),
    200,
    'browsers omit Origin for same-origin requests',
  );
});

test('limits guesses of tickets like failed tokens', async () => {
  await using gateway = await startTestGateway();
  const guess = (): Promise<number> => openEvents(gateway, `ticket_${'0'.repeat(22)}`);
  let status = await guess();
  for (let attempt = 0; attempt < 1_000 && status === 401; attempt += 1) status = await guess();
  assert.equal(status, 429);
});

test('refuses a valid ticket from an address with too many failed tickets', async () => {
  await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 2, windowMs: 60_000 } } });
  const ticket = await issueTicket(gateway);
  const guess = (): Promise<number> => openEvents(gateway, `ticket_${'0'.repeat(22)}`);
  assert.deepEqual([await guess(), await guess()], [401, 401]);
  assert.equal(await openEvents(gateway, ticket), 429);
});

test('accepts a ticket from an address with too many failed bearer tokens', async () => {
  await using gateway = await startTestGateway({ settings: { authFailures: { maxFailures: 2, windowMs: 60_000 } } });
  const ticket = await issueTicket(gateway);
  const fail = async (): Promise<number> =>
    (await fetch(`${gateway.url}/api/agents`, { headers: { authorization: 'Bearer wrong' } })).status;
  assert.deepEqual([await fail(), await fail(), await fail()], [401, 401, 429]);
  assert.equal(await openEvents(gateway, ticket), 200);
});

test('returns 503 for a ticket while the bus is lost', async () => {
  await using gateway = await startTestGateway();
  const ticket = await issueTicket(gateway);
  await gateway.loseBus();
  assert.equal(await openEvents(gateway, ticket), 503);
});

test('never logs a ticket', async () => {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  await using gateway = await startTestGateway({ log: createLogger({ level: 'trace', destination }) });
  const ticket = await issueTicket(gateway);
  for (const path of ['/api/events', '/nowhere', '/api/agents']) {
    const response = await fetch(`${gateway.url}${path}?ticket=${ticket}`);
    await response.body?.cancel();
  }
  assert.match(lines.join(''), /"route":"GET \/api\/agents"/);
  assert.ok(!lines.join('').includes(ticket));
});

const TOKEN: TokenProjection = {
  id: 'one',
  hash: hashToken('any'),
  scopes: ['rpc'],
  tenant: 'default',
  client: 'one',
  sessions: 'tenant',
  lenient: false,
  ver: 1,
};

test('one of several gateways accepts a ticket used at once, and a ticket expires after a minute', async (t: TestContext) => {
  const hub = createMemoryHub();
  const log = silentLogger();
  await using stack = new AsyncDisposableStack();
  const replicas = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const bus = await connectBus('memory:', { hub, log, service: 'gateway' });
      stack.defer(() => bus.drain());
      const bucket = await bus.kv(TOKENS_BUCKET);
      await bucket.put('one', Buffer.from(JSON.stringify(TOKEN)));
      await bucket.put(TOKENS_COMPLETE_KEY, Buffer.from('{"told":true}'));
      const tokens = stack.use(await openTokens({ bus, log }));
      return { tokens, tickets: await openTickets({ bus, tokens }) };
    }),
  );
  const [{ tokens, tickets } = assert.fail()] = replicas;
  const caller = tokens.findByRecord('one') ?? assert.fail();
  for (let round = 0; round < 50; round += 1) {
    const { ticket } = await tickets.issue(caller, undefined);
    const redeemed: (Caller | undefined)[] = await Promise.all(replicas.map((replica) => replica.tickets.redeem(ticket, undefined)));
    assert.equal(redeemed.filter((caller) => caller !== undefined).length, 1);
  }
  const { ticket, expiresAt } = await tickets.issue(caller, undefined);
  t.mock.timers.enable({ apis: ['Date'], now: expiresAt });
  assert.equal(await tickets.redeem(ticket, undefined), undefined);
  assert.equal(TICKETS_BUCKET.ttlMs, 60_000);
});

test('refuses an expired ticket that is still in the bucket', async () => {
  await using gateway = await startTestGateway();
  const bucket = await gateway.bus.kv(TICKETS_BUCKET);
  const stored = { token: 'rpc', ver: 1, expiresAt: Date.now() + 60_000 };
  const [good, expired] = ['1', '2'].map((digit) => `ticket_${digit.repeat(22)}`) as [string, string];
  await bucket.put(hashToken(good), Buffer.from(JSON.stringify(stored)));
  await bucket.put(hashToken(expired), Buffer.from(JSON.stringify({ ...stored, expiresAt: Date.now() })));
  assert.deepEqual([await openEvents(gateway, good), await openEvents(gateway, expired)], [200, 401]);
});
