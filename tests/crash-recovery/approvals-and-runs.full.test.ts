import assert from 'node:assert/strict';
import { existsSync, unlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '@switchyard/testkit';
import { counted } from '../e2e/counting.ts';
import { startEmbedded, type Running } from '../e2e/embedded.ts';
import { call, sendRequest } from '../e2e/exchange.ts';

const PRELOAD = new URL('./write-preload.ts', import.meta.url).href;
/** Distance between two points at which the process dies. With 1 it dies before and after each write. */
const STRIDE = Number(process.env['SWITCHYARD_TEST_STRIDE'] ?? 9);
/** The story has about half as many points. */
const MAX_POINT = 300;
const ROUND_MS = 90_000;
const POLL_MS = 50;

const script = (...steps: object[]): string => JSON.stringify(steps);
const destroy = (name: string): string => script({ tool: { name: 'dev_destroy', input: { name } } }, { text: 'went on' });
const act = (name: string): string => script({ tool: { name: 'dev_act', input: { name } } }, { text: 'the child has acted' });
/** The model `dev/tools` calls the tool, and answers the announcement of the result in plain words. */
const spawn = (name: string): string => `sessions_spawn ${JSON.stringify({ agentId: 'scripted', task: act(name) })}`;

/** The turns of one round. The operator approves the first request and denies the second one. */
function getTurns(point: number) {
  const createTurn = (name: string, agentId: string, message: string) => ({
    agentId,
    message,
    sessionKey: { userId: 'test', channelId: `${name}-${point}` },
    idempotencyKey: `${name}-${point}`,
  });
  return [
    createTurn('approved', 'scripted', destroy(`approved-${point}`)),
    createTurn('refused', 'scripted', destroy(`refused-${point}`)),
    createTurn('parent', 'tools', spawn(`child-${point}`)),
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
async function decide(getProduct: () => Running, signal: AbortSignal): Promise<void> {
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
async function listRuns(product: Running, point: number): Promise<Row[]> {
  const { runs } = await call<{ runs: Row[] }>(product, 'subagent.list');
  return runs.filter(({ callerSessionKey }) => callerSessionKey.includes(`parent-${point}`));
}

function hasEnded(runs: readonly Row[]): boolean {
  return runs.length > 0 && runs.every(({ status }) => status !== 'running' && status !== 'queued');
}

/** Checks that each turn and each run of a round has ended once, and returns how often the approved call and the child acted. */
async function checkRound(product: Running, point: number): Promise<{ approved: number; child: number }> {
  for (const turn of getTurns(point)) {
    const { response } = await repeat(() => call<{ response: string }>(product, 'agent.execute', turn));
    assert.match(response, turn.agentId === 'tools' ? /sessions_spawn answered: / : /^went on$/, turn.idempotencyKey);
  }
  const runs = await repeat(() => listRuns(product, point), hasEnded);
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
    ['approved', 'refused', 'child'].map(async (name) => (await counted(product, `${name}-${point}`)).executions),
  );
  assert.equal(refused, 0, 'a denied call is not executed');
  assert.ok(approved! <= 1, `the approved call ran ${approved} times`);
  assert.ok(child! <= 1, `the child acted ${child} times`);
  return { approved: approved!, child: child! };
}

/** Resolves when the run of a round has ended, or the process. */
async function awaitEnd(product: Running, point: number, exited: Promise<unknown>): Promise<void> {
  let isOver = false;
  void exited.then(() => (isOver = true));
  await repeat(
    async () => isOver || hasEnded(await listRuns(product, point)),
    (ended) => ended,
  );
}

test('approvals and sub-agents end once when the process is killed before and after writes', { timeout: 1_800_000 }, async (t) => {
  await using data = await tempDir();
  const order = `${data.path}/point`;
  const start = () =>
    startEmbedded({
      data: data.path,
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
    });
  let product = await start();
  const stop = new AbortController();
  const deciding = decide(() => product, stop.signal);
  await using own = new AsyncDisposableStack();
  own.defer(async () => {
    stop.abort();
    await deciding;
    await product[Symbol.asyncDispose]();
  });
  const total = { kills: 0, approved: 0, child: 0 };
  for (let point = 1; point <= MAX_POINT; point += STRIDE) {
    writeFileSync(order, String(point));
    const turns = getTurns(point).map((turn) => sendRequest(product, 'agent.execute', turn).catch(() => undefined));
    const { exited } = product.process;
    const isKilled = await Promise.race([exited.then(() => true), awaitEnd(product, point, exited).then(() => false)]);
    if (!isKilled) break; // the story has fewer points
    await Promise.all(turns);
    await product[Symbol.asyncDispose]();
    total.kills += 1;
    product = await start();
    const { approved, child } = await checkRound(product, point);
    total.approved += approved;
    total.child += child;
  }
  if (existsSync(order)) unlinkSync(order);
  t.diagnostic(JSON.stringify(total));
  assert.ok(total.kills > 1 && total.approved > 0 && total.child > 0, JSON.stringify(total));
});
