import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../e2e/counting.ts';
import type { Running, StartOptions } from '../e2e/embedded.ts';
import { call, sendRequest } from '../e2e/exchange.ts';

const PRELOAD = new URL('./write-preload.ts', import.meta.url).href;
const ROUND_MS = 90_000;
const POLL_MS = 50;

/** Options of a product whose sessions service dies where the file `order` says. */
export function getDyingOptions(order: string): Required<Pick<StartOptions, 'env' | 'config'>> {
  return {
    env: { SWITCHYARD_DEV_TOOLS: 'on', NODE_OPTIONS: `--import ${PRELOAD}`, DIE_AT_POINT: order },
    config: {
      agents: {
        default: {},
        tools: { model: 'dev/tools' },
        scripted: { model: 'dev/scripted', skills: { toolPolicy: { profile: 'full' } } },
      },
      approvals: { enabled: true },
      security: { agentToAgent: { subAgentToolGroups: ['full'] } },
    },
  };
}

const script = (...steps: object[]): string => JSON.stringify(steps);
const destroy = (name: string): string => script({ tool: { name: 'dev_destroy', input: { name } } }, { text: 'went on' });
const act = (name: string): string => script({ tool: { name: 'dev_act', input: { name } } }, { text: 'the child has acted' });
/** The model `dev/tools` calls the tool, and answers the announcement of the result in plain words. */
const spawn = (name: string): string => `sessions_spawn ${JSON.stringify({ agentId: 'scripted', task: act(name) })}`;

/** The turns of one round. The operator approves the first request and denies the second one. */
export function getTurns(round: string | number) {
  const createTurn = (name: string, agentId: string, message: string) => ({
    agentId,
    message,
    sessionKey: { userId: 'test', channelId: `${name}-${round}` },
    idempotencyKey: `${name}-${round}`,
  });
  return [
    createTurn('approved', 'scripted', destroy(`approved-${round}`)),
    createTurn('refused', 'scripted', destroy(`refused-${round}`)),
    createTurn('parent', 'tools', spawn(`child-${round}`)),
  ];
}

interface Request {
  requestId: string;
  params: { name?: string };
}

interface Row {
  status: string;
  callerSessionKey: string;
}

/** Repeats a request until it has a result that is accepted, because the process is killed and started again. */
async function repeat<T>(attempt: () => Promise<T>, accept: (result: T) => boolean = () => true): Promise<T> {
  const deadline = Date.now() + ROUND_MS;
  let last: unknown;
  while (Date.now() < deadline) {
    try {
      const result = await attempt();
      if (accept(result)) return result;
      last = result;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error('no accepted result in time', { cause: last });
}

/** Decides each request that appears, until the signal aborts. */
export async function decide(getProduct: () => Running, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const pending = await call<{ requests: Request[] }>(getProduct(), 'admin.approval.pending').catch(() => ({ requests: [] }));
    for (const { requestId, params } of pending.requests) {
      const approved = params.name?.startsWith('approved-') === true;
      await sendRequest(getProduct(), 'admin.approval.resolve', { id: requestId, approved }).catch(() => undefined);
    }
    await sleep(POLL_MS);
  }
}

/** Lists the runs that the parent of a round has started. */
async function listRuns(product: Running, round: string | number): Promise<Row[]> {
  const { runs } = await call<{ runs: Row[] }>(product, 'subagent.list');
  return runs.filter(({ callerSessionKey }) => callerSessionKey.endsWith(`parent-${round}`));
}

function hasEnded(runs: readonly Row[]): boolean {
  return runs.length > 0 && runs.every(({ status }) => status !== 'running' && status !== 'queued');
}

/** Checks that each turn and each run of a round has ended once, and returns how often the approved call and the child acted. */
export async function checkRound(product: Running, round: string | number): Promise<{ approved: number; child: number }> {
  for (const turn of getTurns(round)) {
    const { response } = await repeat(() => call<{ response: string }>(product, 'agent.execute', turn));
    assert.match(response, turn.agentId === 'tools' ? /sessions_spawn answered: / : /^went on$/, turn.idempotencyKey);
  }
  const runs = await repeat(() => listRuns(product, round), hasEnded);
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['completed'],
    JSON.stringify(runs),
  );
  const { callerSessionKey } = runs[0]!;
  const countQuestions = async () => {
    const { messages } = await call<{ messages: { role: string }[] }>(product, 'session.history', { session_key: callerSessionKey });
    return messages.filter(({ role }) => role === 'user').length;
  };
  assert.equal(await repeat(countQuestions, (found) => found > 1), 2, 'the parent hears the result once');
  const [approved, refused, child] = await Promise.all(
    ['approved', 'refused', 'child'].map(async (name) => (await repeat(() => counted(product, `${name}-${round}`))).executions),
  );
  assert.equal(refused, 0, 'a denied call is not executed');
  assert.ok(approved! <= 1, `the approved call ran ${approved} times`);
  assert.ok(child! <= 1, `the child acted ${child} times`);
  return { approved: approved!, child: child! };
}

/** Resolves when the run of a round has ended, or with the condition. */
export async function awaitEnd(product: Running, round: string | number, isOver: () => boolean): Promise<void> {
  await repeat(
    async () => isOver() || hasEnded(await listRuns(product, round)),
    (ended) => ended,
  );
}
