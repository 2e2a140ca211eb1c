import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { call, sendRequest } from '../e2e/exchange.ts';
import { getProcess, SKIP } from './processes.ts';

interface Progress {
  status: string;
  isTerminal: boolean;
  nodes: Record<string, { status: string; output: string | null; durationMs?: number }>;
}

const POLL_MS = 50;
/** A killed replica is replaced within this time. */
const TAKEOVER_MS = 20_000;
/** A turn of the slow model, and the order of it on a busy machine. */
const NODE_MS = 30_000;

/** A chain of nodes that take seconds, so that each kill meets one that runs. */
const NODES = ['a', 'b', 'c'].map((nodeId, at, all) => ({
  node_id: nodeId,
  task: `Write ${nodeId}: ${'words '.repeat(180)}`,
  depends_on: at === 0 ? [] : [all[at - 1]!],
}));

describe('graphs on replicas that are killed', { skip: SKIP, timeout: 300_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster', { config: { agents: { default: { model: 'dev/slow' } } } })));
  after(() => product[Symbol.asyncDispose]());

  /** Returns undefined if the replica that was asked has been killed, which the caller learns as a retryable error. */
  async function read(graphId: string): Promise<Progress | undefined> {
    const { result, error } = await sendRequest(product, 'graph.status', { graphId });
    assert.ok(error === undefined || error.data?.retryable === true, JSON.stringify(error));
    return result as Progress | undefined;
  }

  async function readUntil(graphId: string, isReached: (progress: Progress) => boolean): Promise<Progress> {
    for (const deadline = Date.now() + NODE_MS * 2; ;) {
      const progress = await read(graphId);
      if (progress && isReached(progress)) return progress;
      assert.ok(Date.now() < deadline, JSON.stringify(progress));
      await sleep(POLL_MS);
    }
  }

  test('finished nodes keep their outputs, each turn runs once, and the run goes on within 10 seconds', async (t) => {
    const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { nodes: NODES });
    // The call may be answered by a replica that is killed.
    void call(product, 'graph.execute', { graphId }).catch(() => undefined);
    for (const [at, replica] of ['graph-1', 'graph-2'].entries()) {
      const node = NODES[at]!.node_id;
      await readUntil(graphId, ({ nodes }) => nodes[node]?.status === 'running');
      process.kill((await getProcess(product, replica)).pid, 'SIGKILL');
    }
    const { status, nodes } = await readUntil(graphId, ({ isTerminal }) => isTerminal);
    assert.equal(status, 'completed', JSON.stringify(nodes));
    const { sessions } = await call<{ sessions: { sessionKey: string; messageCount: number }[] }>(product, 'session.list');
    const own = sessions.filter(({ sessionKey }) => sessionKey.includes('graph'));
    // A step that ran twice would have left further messages in its session.
    assert.deepEqual(
      own.map(({ messageCount }) => messageCount),
      NODES.map(() => 2),
      JSON.stringify(sessions),
    );
    // No replica was killed during the last node, so that it shows how long a node takes without a takeover.
    const undisturbedMs = nodes['c']?.durationMs ?? 0;
    t.diagnostic(`nodes took ${NODES.map(({ node_id: nodeId }) => nodes[nodeId]?.durationMs).join(', ')} ms`);
    for (const { node_id: nodeId } of NODES) {
      assert.match(nodes[nodeId]?.output ?? '', new RegExp(`Write ${nodeId}`));
      const lateMs = (nodes[nodeId]?.durationMs ?? Infinity) - undisturbedMs;
      assert.ok(lateMs < TAKEOVER_MS, `${nodeId} ended ${lateMs} ms late`);
    }
  });
});
