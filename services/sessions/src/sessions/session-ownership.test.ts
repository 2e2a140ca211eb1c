import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { ServiceError, sessions as contract, unserved, type MethodName, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { principal, type TestService } from '@switchyard/testkit';
import { ended, listen, putAgent, testSessions, getTurnId } from '../sessions.fixture.ts';

/** A conversation with its owner, its identifiers and a text that other clients must not read. */
interface There {
  owner: Principal;
  key: string;
  turnId: string;
  secret: string;
}

function place(tenant: string, client: string): There {
  const owner = principal({ tenant, client, scopes: ['*'] });
  return { owner, key: `${tenant}:${client}:gateway`, turnId: getTurnId(`of${client}`), secret: `the secret of ${client}` };
}

const OWN = place('default', 'mary');
const OTHER = place('default', 'carl');
const ELSEWHERE = place('acme', 'zoe');
/** A session and a turn that do not exist. */
const NOBODY = place('default', 'nobody');

const KINDS = ['tenant', 'own'] as const;
type Kind = (typeof KINDS)[number];

function held(kind: Kind, to: Principal = OWN.owner): Principal {
  return kind === 'own' ? { ...to, sessions: 'own' } : to;
}

/** A call that names a session or a turn. */
type Call = (bus: Bus, existing: There) => Promise<unknown>;

type Ways = { makes: true | undefined; silent: true | undefined };

interface Row {
  /** Every way to name a session or turn in this method. */
  named: readonly Call[];
  /** The method creates a missing session, so it rejects only sessions of others. */
  makes?: true;
  /** The method does nothing, without an error, if the session is missing or not visible. */
  silent?: true;
}

const parts = ({ owner }: There) => ({ tenantId: owner.tenant, userId: owner.client, channelId: 'gateway' });
const askTool = ({ key }: There): string => `session_history ${JSON.stringify({ session_key: key })}`;

/** Throws the error that a tool received, as if the caller had received it directly. */
function asTold(response: string): string {
  const [, code, message] = /"error":"([A-Z_]+): ([^"]*)"/.exec(response) ?? [];
  if (code !== undefined) throw new ServiceError(code as 'NOT_FOUND', message ?? '');
  return response;
}

const executes = (method: 'agent.execute' | 'agent.stream'): Call[] => [
  (bus, existing) => bus.call(method, { message: 'hello', sessionKey: parts(existing) }),
  (bus, current) => bus.call(method, { message: 'hello', sessionKey: parts(current), idempotencyKey: current.key }),
];

const tool: Call = async (bus, existing) => {
  const { response } = await bus.call('agent.execute', { agentId: 'tools', message: askTool(existing) });
  return asTold(response);
};

const statelessTool: Call = async (bus, existing) => {
  const frames = await Array.fromAsync(bus.stream('turns.run', { turnId: mintId('turn'), model: 'tools', message: askTool(existing) }));
  const end = frames.at(-1);
  assert.ok(end?.type === 'done');
  return asTold(end.result.response);
};

const statelessAnswer: Call = async (bus, existing) => {
  const { response } = await bus.call('turns.complete', { turnId: mintId('turn'), model: 'tools', message: askTool(existing) });
  return asTold(response);
};

const keyedAnswer: Call = async (bus, existing) => {
  const request = {
    turnId: mintId('turn'),
    model: 'tools',
    message: askTool(existing),
    fingerprint: 'of it',
    head: { id: 'one', created: 1 },
  };
  const { turnId } = await bus.call('turns.once', { ...request, idempotencyKey: request.turnId });
  const { result } = await ended(bus, turnId);
  return asTold(result?.response ?? '');
};

/** All methods and operations that the service serves. */
const rows: Record<string, readonly Row[]> = {
  'agent.execute': [{ named: executes('agent.execute'), makes: true }, { named: [tool] }],
  'agent.stream': [{ named: executes('agent.stream'), makes: true }],
  'agent.start': [
    {
      named: [
        (bus, { key }) => bus.call('agent.start', { message: 'hello', sessionKey: key }),
        (bus, existing) => bus.call('agent.start', { message: 'hello', sessionKey: parts(existing) }),
      ],
      makes: true,
    },
  ],
  'session.send': [{ named: [(bus, { key }) => bus.call('session.send', { key, message: 'hello' })], makes: true }],
  'session.history': [{ named: [(bus, { key }) => bus.call('session.history', { session_key: key })] }],
  'session.export': [{ named: [(bus, { key }) => bus.call('session.export', { session_key: key })] }],
  'session.reset': [{ named: [(bus, { key }) => bus.call('session.reset', { session_key: key })] }],
  'session.delete': [{ named: [(bus, { key }) => bus.call('session.delete', { session_key: key })] }],
  'session.spawn': [{ named: [(bus, { key }) => bus.call('session.spawn', { parentKey: key, task: 'hello' })] }],
  // These methods name runs. Covered by `subagents.test.ts`.
  'runs.spawn': [],
  'subagent.list': [],
  'subagent.kill': [],
  'subagent.steer': [],
  'session.compact': [{ named: [(bus, { key }) => bus.call('session.compact', { key })] }],
  'session.reset_conversation': [{ named: [(bus, { key }) => bus.call('session.reset_conversation', { session_key: key })], silent: true }],
  'turns.start': [
    {
      named: [
        (bus, { key }) => bus.call('turns.start', { turnId: mintId('turn'), message: 'hello', session: key }),
        (bus, existing) => bus.call('turns.start', { turnId: mintId('turn'), message: 'hello', session: parts(existing) }),
      ],
      makes: true,
    },
  ],
  'turns.run': [{ named: [statelessTool] }],
  'turns.complete': [{ named: [statelessAnswer] }],
  'turns.once': [{ named: [keyedAnswer] }],
  // A turn is visible to its client only, for every kind of token.
  'turns.resume': [],
  'turns.ends': [],
  'turns.cancel': [],
  // Reads any turn of the tenant, for the scheduler only. Covered by `turn-orders.test.ts`.
  'turns.exchange': [],
  // Names a session as `turns.start` does, for other callers. Covered by `turn-orders.test.ts`.
  'turns.order': [],
  'agent.attach': [],
  'agent.cancel': [],
  'session.run_status': [],
  // A response is visible to its client only. Covered by `responses.test.ts`.
  'responses.get': [],
  'responses.cancel': [],
  'responses.delete': [],
  // These methods read only the session of their turn. Covered by `context-tools.test.ts`.
  'ctx.search': [],
  'ctx.inspect': [],
  'ctx.expand': [],
  'ctx.recall': [],
  // Covered by `dev-tools.test.ts`.
  'ctx.result': [],
  // These methods use no session.
  'agent.cacheStats': [],
  'agent.getOperationModels': [],
  'budgets.spend': [],
  'context.status': [],
  'queue.status': [],
  'usage.list': [],
  // Called for administrators by observability alone. Covered by tests/observability/replay.test.ts.
  'turns.record': [],
  'turns.replay': [],
  'dev.act': [],
  'dev.destroy': [],
  // These methods need the scope admin and name requests.
  'admin.approval.pending': [],
  'admin.approval.resolve': [],
  'admin.approval.resolveAll': [],
  'admin.approval.clearDenialCache': [],
  // These operations are for services and name requests of their client. Covered by `approval-orders.test.ts`.
  'approvals.order': [],
  'approvals.verdicts': [],
  'approvals.withdraw': [],
  'dev.look': [],
  'dev.count': [],
  // These methods use a conversation id. Covered by `context.test.ts`.
  'context.conversations': [],
  'context.tree': [],
  // These methods name no session. Covered below.
  'session.list': [],
  'session.search': [],
  'session.status': [],
};

async function testWorld(): Promise<TestService> {
  const app = await testSessions({ as: OWN.owner, agents: { tools: { model: 'dev/tools' } } });
  await putAgent(app.host.bus, 'default', { tenant: 'acme' });
  await app.host.bus.flush();
  // The caller's own session is the oldest one.
  for (const { owner, secret, turnId } of [OWN, ELSEWHERE, OTHER]) {
    const received = listen(app.bus, turnId);
    await app.bus.as(owner).call('turns.start', { turnId, message: secret });
    await received.until('done');
  }
  return app;
}

const exported = (app: TestService, { owner, key }: There) => app.bus.as(owner).call('session.export', { session_key: key });

test('every served method and operation has a row', () => {
  const served = Object.keys(contract.methods).filter((name) => !unserved.has(name as MethodName));
  assert.deepEqual(Object.keys(rows).toSorted(), [...served, ...Object.keys(contract.operations)].toSorted());
});

for (const kind of KINDS) {
  describe(`a token for ${kind === 'own' ? 'its own sessions' : 'the sessions of its tenant'}`, () => {
    for (const [name, ways] of Object.entries(rows)) {
      for (const { named, makes, silent } of ways) {
        for (const [way, call] of named.entries()) {
          test(`${name}${named.length > 1 ? ` (${way + 1})` : ''}`, () => meetsAll(kind, call, { makes, silent }));
        }
      }
    }
  });
}

/** Makes one call with a session of the caller, of another client of the tenant, of another tenant, and with a missing session. */
async function meetsAll(kind: Kind, call: Call, { makes, silent }: Ways): Promise<void> {
  await using app = await testWorld();
  const bus = app.bus.as(held(kind));
  const unknown = { code: 'NOT_FOUND', message: 'Session not found.' };
  const elsewhere = await exported(app, ELSEWHERE);
  await assert.rejects(call(bus, ELSEWHERE), unknown);
  assert.deepEqual(await exported(app, ELSEWHERE), elsewhere);

  const nothing = { sessionKey: NOBODY.key, lcdRowsDeleted: 0, sessionMessagesCleared: 0 };
  const denied = { code: 'NOT_FOUND', details: { reason: 'SESSION_NAME' } };
  if (makes && kind === 'own') await assert.rejects(call(bus, NOBODY), denied);
  else if (makes) await call(bus, NOBODY);
  else if (silent) assert.deepEqual(await call(bus, NOBODY), nothing);
  else await assert.rejects(call(bus, NOBODY), unknown);

  const other = await exported(app, OTHER);
  if (kind === 'own') {
    if (silent) assert.deepEqual(await call(bus, OTHER), { ...nothing, sessionKey: OTHER.key }, 'as if it were not there');
    else await assert.rejects(call(bus, OTHER), makes ? denied : unknown);
    assert.deepEqual(await exported(app, OTHER), other, 'untouched');
  } else await call(bus, OTHER);

  await call(bus, OWN);
}

for (const kind of KINDS) {
  test(`only the client that started a turn can follow it (${kind})`, async () => {
    await using app = await testWorld();
    const bus = app.bus.as(held(kind));
    assert.equal((await bus.call('turns.resume', { turnId: OWN.turnId })).state, 'done');
    for (const { turnId } of [OTHER, ELSEWHERE, NOBODY]) {
      await assert.rejects(bus.call('turns.resume', { turnId }), { code: 'NOT_FOUND', message: 'Turn not found.' });
      await assert.rejects(bus.call('session.run_status', { run_id: turnId }), { code: 'NOT_FOUND', message: 'Run not found.' });
    }
  });

  test(`a caller that names no session gets its own, although another client’s is newer (${kind})`, async () => {
    await using app = await testWorld();
    const bus = app.bus.as(held(kind));
    const { tokensUsed } = await bus.call('session.status', {});
    for (const params of [{}, { channelId: 'gateway' }]) {
      assert.equal((await bus.call('session.history', params)).messages[0]?.content, OWN.secret);
    }
    await app.bus.as(OTHER.owner).call('agent.execute', { message: 'much longer than what the other has ever said' });
    assert.deepEqual((await bus.call('session.status', {})).tokensUsed, tokensUsed);
  });

  test(`a caller without sessions gets nothing, neither directly nor through its agent’s tools (${kind})`, async () => {
    await using app = await testWorld();
    const newcomer = held(kind, NOBODY.owner);
    const bus = app.bus.as(newcomer);
    for (const params of [{}, { channelId: 'gateway' }]) assert.deepEqual(await bus.call('session.history', params), { messages: [] });
    const { tokensUsed, stepsExecuted } = await bus.call('session.status', {});
    assert.deepEqual({ tokensUsed, stepsExecuted }, { tokensUsed: { totalTokens: 0, totalCost: 0 }, stepsExecuted: 0 });
    for (const input of ['{}', '{"channelId":"gateway"}']) {
      const frames = await Array.fromAsync(
        bus.stream('turns.run', { turnId: mintId('turn'), model: 'tools', message: `session_history ${input}` }),
      );
      assert.match(JSON.stringify(frames), /\[\]/);
      const { response } = await bus.call('agent.execute', { agentId: 'tools', message: `session_history ${input}` });
      assert.doesNotMatch(JSON.stringify(frames) + response, /the secret of/);
    }
  });

  test(`a list contains ${kind === 'own' ? 'the client’s sessions' : 'the tenant’s sessions'} and counts no others`, async () => {
    await using app = await testWorld();
    const { sessions, total } = await app.bus.as(held(kind)).call('session.list', {});
    const keys = sessions.map(({ sessionKey }) => sessionKey);
    const expectedItems = kind === 'own' ? [OWN.key] : [OTHER.key, OWN.key];
    assert.deepEqual([keys, total], [expectedItems, expectedItems.length]);
    const dm = await app.bus.as(held(kind)).call('session.list', { kind: 'dm', since_minutes: 5 });
    assert.equal(dm.total, expectedItems.length);
    assert.equal((await app.bus.as(held(kind, NOBODY.owner)).call('session.list', {})).total, kind === 'own' ? 0 : 2);
  });
}

for (const kind of KINDS) {
  test(`a search covers ${kind === 'own' ? 'the client’s sessions' : 'the tenant’s sessions'} and no others`, async () => {
    await using app = await testWorld();
    const matches = await app.bus.as(held(kind)).call('session.search', { query: 'secret' });
    const keys = matches.map(({ sessionKey }) => sessionKey).toSorted();
    assert.deepEqual(keys, kind === 'own' ? [OWN.key] : [OTHER.key, OWN.key]);
    assert.doesNotMatch(JSON.stringify(matches), kind === 'own' ? /zoe|carl/ : /zoe/);
  });
}
