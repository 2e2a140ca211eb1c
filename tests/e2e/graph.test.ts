import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { call } from './exchange.ts';
import { onEachProfile } from './profiles.ts';

interface Pending {
  requests: { requestId: string; action: string; params: { message: string } }[];
}

interface Execution {
  graphId: string;
  status: string;
  outputs: Record<string, string | null>;
}

interface Progress {
  nodes: Record<string, { status: string; error?: string }>;
}

const TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 50;

onEachProfile('graphs', (product) => {
  test('a graph whose approval gate is approved runs to its end', async () => {
    const nodes = [
      { node_id: 'draft', task: 'Write about ${TOPIC}.' },
      {
        node_id: 'gate',
        task: 'Publish?',
        depends_on: ['draft'],
        type_id: 'approval-gate',
        type_config: { message: 'Publish on ${TOPIC}?' },
      },
      { node_id: 'publish', task: 'Publish {{draft.result}}', depends_on: ['draft', 'gate'] },
    ];
    const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { nodes });
    const channel = { announceChannelType: 'telegram', announceChannelId: '678' };
    const executed = call<Execution>(product, 'graph.execute', { graphId, inputs: { TOPIC: 'switches' }, ...channel });
    const deadline = Date.now() + TIMEOUT_MS;
    let request: Pending['requests'][number] | undefined;
    while (!request) {
      assert.ok(Date.now() < deadline, 'no approval was requested');
      await wait(POLL_INTERVAL_MS);
      const { requests } = await call<Pending>(product, 'admin.approval.pending', {});
      request = requests.find(({ action }) => action === 'graph.gate');
    }
    assert.equal(request.params.message, 'Publish on switches?');
    await call(product, 'admin.approval.resolve', { id: request.requestId, approved: true });
    const { status, outputs } = await executed;
    assert.equal(status, 'completed', JSON.stringify(outputs));
    assert.match(outputs['draft'] ?? '', /Write about switches\./);
    assert.match(outputs['publish'] ?? '', /Publish [^]*Write about switches\./);
    assert.equal(outputs['gate'], 'Approved by operator.');
  });

  test('the nodes of an agent that is deleted half way fail with that reason', async () => {
    await call(product, 'agents.create', { name: 'writer', model: 'dev/slow' });
    const nodes = [
      { node_id: 'research', task: 'Search.', agent: 'writer' },
      { node_id: 'report', task: 'Write.', agent: 'writer', depends_on: ['research'] },
    ];
    const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { nodes });
    const executed = call<Execution>(product, 'graph.execute', { graphId });
    const read = async () => (await call<Progress>(product, 'graph.status', { graphId })).nodes;
    while ((await read())['research']?.status !== 'running') await wait(POLL_INTERVAL_MS);
    await call(product, 'agents.delete', { agentId: 'writer' });
    assert.equal((await executed).status, 'failed');
    // A turn that runs may end by itself, so that the next node is the first one that fails.
    const errors = Object.values(await read()).map(({ error = '' }) => error);
    assert.ok(
      errors.some((error) => /agent:? writer/i.test(error)),
      JSON.stringify(errors),
    );
  });
});
