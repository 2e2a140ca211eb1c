import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { ended, testSessions } from '../sessions.fixture.ts';

const REQUESTS = 1_000;
/** Turns that wait at the same time. */
const ROUND = 50;
const AGENT = 'agent:scripted:default:test';

const destroy = (name: string): string => JSON.stringify([{ tool: { name: 'dev_destroy', input: { name } } }, { text: 'went on' }]);

interface Waiting {
  requestId: string;
  turnId: string;
  name: string;
}

interface Answered {
  /** Verdicts of the answers that won. */
  won: boolean[];
  /** Answers that were told that another one was first. */
  lost: number;
}

/** Answers one request from RPC, by the whole session and from its chat at once, with different verdicts. */
async function answerFromThreePlaces({ bus }: TestService, { requestId, name }: Waiting, at: number): Promise<Answered> {
  const verdict = (place: number): boolean => (at + place) % 2 === 0;
  const byRpc = async (approved: boolean): Promise<boolean> => {
    try {
      return (await bus.call('admin.approval.resolve', { id: requestId, approved })).approved === approved;
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'FAILED_PRECONDITION', String(error));
      assert.equal(typeof error.details['approved'], 'boolean');
      assert.match(String(error.details['approvedBy']), /^(operator|another operator|chat:test)$/);
      return false;
    }
  };
  const bySession = async (approved: boolean): Promise<boolean> => {
    const request = { approved, sessionKey: `${AGENT}:${name}`, approvedBy: 'another operator' };
    return (await bus.call('admin.approval.resolveAll', request)).resolved > 0;
  };
  const byChat = async (approved: boolean): Promise<boolean> => {
    const message = `${approved ? '/approve' : '/deny'} ${requestId.slice(5, 13)}`;
    const sessionKey = { userId: 'test', channelId: name };
    const { response } = await bus.call('agent.execute', { agentId: 'scripted', message, sessionKey });
    assert.match(response, /^(Approved: |Denied: |Approval request .* was already|No call waits|No waiting call)/);
    return response.startsWith(approved ? 'Approved: ' : 'Denied: ');
  };
  // Each place is the first one in turn.
  const places = [byRpc, bySession, byChat].map((_, n, all) => all[(n + at) % all.length]!);
  const answers = await Promise.all(places.map(async (place, n) => ({ approved: verdict(n), won: await place(verdict(n)) })));
  return { won: answers.filter(({ won }) => won).map(({ approved }) => approved), lost: answers.filter(({ won }) => !won).length };
}

/** Returns how often a call was executed. */
async function count({ bus }: TestService, name: string): Promise<number> {
  const sessionKey = { userId: 'test', channelId: 'counter' };
  const { response } = await bus.call('agent.execute', {
    agentId: 'counter',
    message: `dev_count ${JSON.stringify({ name })}`,
    sessionKey,
  });
  return Number(/"executions":(\d+)/.exec(response)?.[1]);
}

test('of 1,000 requests that are answered from three places at once, each has one verdict', { timeout: 900_000 }, async (t) => {
  await using app = await testSessions({
    agents: { scripted: { model: 'dev/scripted', concurrency: { maxConcurrentRuns: ROUND } }, counter: { model: 'dev/tools' } },
    env: { SWITCHYARD_DEV_TOOLS: 'on' },
    settings: { approvals: { enabled: true } },
    timing: { pollMs: 50 },
  });
  const resolved = new Map<string, boolean[]>();
  app.bus.on('approval:resolved', ({ payload }) => {
    resolved.set(payload.requestId, [...(resolved.get(payload.requestId) ?? []), payload.approved]);
  });
  const total = { approved: 0, denied: 0 };
  for (let first = 0; first < REQUESTS; first += ROUND) {
    const turns = new Map<string, string>();
    const names = Array.from({ length: ROUND }, (_, at) => `call-${first + at}`);
    for (const name of names) {
      const { turnId } = await app.bus.call('agent.start', {
        agentId: 'scripted',
        message: destroy(name),
        sessionKey: { userId: 'test', channelId: name },
      });
      turns.set(name, turnId);
    }
    let pending = await app.bus.call('admin.approval.pending', {});
    while (pending.total < ROUND) pending = await app.bus.call('admin.approval.pending', {});
    const waiting = pending.requests.map(({ requestId, params }) => {
      const name = String(params['name']);
      return { requestId, name, turnId: turns.get(name)! };
    });
    const answered = await Promise.all(waiting.map((request, at) => answerFromThreePlaces(app, request, at)));
    for (const [at, { won, lost }] of answered.entries()) {
      const { requestId, turnId } = waiting[at]!;
      assert.deepEqual([won.length, lost], [1, 2], `${requestId} has one verdict`);
      await ended(app.bus, turnId);
      assert.equal(await count(app, waiting[at]!.name), won[0] ? 1 : 0, `executions of ${waiting[at]!.name}`);
      total[won[0] ? 'approved' : 'denied'] += 1;
    }
    await app.bus.flush();
    for (const [at, { won }] of answered.entries()) assert.deepEqual(resolved.get(waiting[at]!.requestId), won, 'one event');
  }
  t.diagnostic(JSON.stringify(total));
  assert.equal(total.approved + total.denied, REQUESTS);
  assert.ok(total.approved > 0 && total.denied > 0);
});
