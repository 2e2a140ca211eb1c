import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testGraph } from './graph.fixture.ts';

const TEXT = 'é'.repeat(60_000);
const nodes = [
  { node_id: 'research', task: 'Search.' },
  { node_id: 'report', task: 'Write a page about {{research.result}}', depends_on: ['research'] },
];
const settings = { security: { agentToAgent: { graphMaxResultLength: 100_000 } } };

type App = Awaited<ReturnType<typeof testGraph>>;

async function listFiles(app: App, runId: string) {
  const files = (await app.host.blobs()).for(principal());
  return { files, owner: `graph-run/${runId}`, kept: await files.listKept({ owner: `graph-run/${runId}` }) };
}

/** Executes the graph; the first node writes a long output. */
async function execute(app: App) {
  app.turns.answer(({ idempotencyKey }) => (idempotencyKey.includes('/research/') ? TEXT : 'A page.'));
  const { graphId } = await app.bus.call('graph.define', { nodes });
  return app.bus.call('graph.execute', { graphId });
}

test('keeps a long output as a blob of its run, and deletes it with the run', async () => {
  await using app = await testGraph({ settings });
  const { runId, outputs } = await execute(app);
  assert.deepEqual(outputs, { research: TEXT, report: 'A page.' });
  assert.deepEqual(app.turns.orders.get(`${runId}/report/1/0`)?.context, [{ title: 'Output of research', text: TEXT }]);
  const { kept } = await listFiles(app, runId);
  assert.deepEqual(
    kept.map(({ size }) => size),
    [Buffer.byteLength(TEXT)],
  );
  const { nodes: detail } = await app.bus.call('graph.runDetail', { runId });
  assert.deepEqual(
    detail.map(({ artifacts }) => artifacts),
    [[{ filename: 'research-output.md', content: TEXT }], [{ filename: 'report-output.md', content: 'A page.' }]],
  );
  await app.bus.call('graph.deleteRun', { runId });
  assert.deepEqual((await listFiles(app, runId)).kept, []);
});

test('names the file of an output that has disappeared', async () => {
  await using app = await testGraph({ settings });
  const { graphId, runId } = await execute(app);
  const { files, owner, kept } = await listFiles(app, runId);
  for (const { id } of kept) await files.release(id, owner);
  const rest = new RegExp(`^é+\\n\\[\\d+ of 60000 characters\\. The file research-output\\.md of the run ${runId} no longer exists\\.\\]$`);
  const { outputs } = await app.bus.call('graph.outputs', { graphId });
  assert.match(outputs['research'] ?? '', rest);
  assert.equal(outputs['report'], 'A page.');
  const [artifact] = (await app.bus.call('graph.runDetail', { runId })).nodes[0]?.artifacts ?? [];
  assert.equal(artifact?.missing, true);
  assert.match(artifact?.content ?? '', rest);
  const agent = (await app.host.connect('sessions')).as(principal());
  await assert.rejects(agent.call('graph.output', { runId, nodeId: 'research' }), {
    code: 'NOT_FOUND',
    message: /research-output\.md .* no longer exists/,
  });
});

test('completes a node whose output the blob store refuses', async () => {
  await using app = await testGraph({ settings, env: { SWITCHYARD_BLOB_TENANT_BYTES: '1000' } });
  const { runId, status } = await execute(app);
  assert.equal(status, 'completed');
  assert.deepEqual((await listFiles(app, runId)).kept, []);
});
