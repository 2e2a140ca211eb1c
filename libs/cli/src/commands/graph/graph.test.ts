import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const graph = (url: string, cwd: string, ...args: string[]) =>
  runCommand(['graph', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const graphId = 'graph_1';
const stats = { total: 1, completed: 1, failed: 0, skipped: 0, running: 0, pending: 0 };
const progress = {
  graphId,
  runId: 'run_1',
  label: 'survey',
  status: 'completed',
  isTerminal: true,
  executionOrder: ['research'],
  nodes: { research: { status: 'completed', output: 'Three.', durationMs: 8_200 } },
  stats,
};

test('run defines and executes the graph of a file and prints progress and outputs', async () => {
  await using folder = await tempDir();
  writeFileSync(join(folder.path, 'survey.yaml'), 'label: survey\nnodes:\n  - { node_id: research, task: "Find ${PRODUCT}." }\n');
  const calls: Call[] = [];
  const answers: Record<string, unknown> = {
    'graph.define': { graphId, nodeCount: 1, executionOrder: ['research'], warnings: [] },
    'graph.execute': { graphId, runId: 'run_1', status: 'completed', outputs: { research: 'Three.' }, warnings: [] },
    'graph.status': progress,
    'graph.outputs': { graphId, outputs: { research: 'Three.' }, source: 'disk' },
  };
  await using server = await startServer({ call: (call) => (calls.push(call), answers[call.method]) });
  const { code, stdout } = await graph(server.url, folder.path, 'run', 'survey.yaml', 'PRODUCT=switches');
  assert.equal(code, 0);
  assert.equal(stdout, 'survey: completed, 1 of 1 nodes completed\n  ✓ research: completed, 8.2 s\n\n# research\n\nThree.\n');
  assert.deepEqual(calls.find(({ method }) => method === 'graph.execute')?.params, { graphId, inputs: { PRODUCT: 'switches' } });
  assert.equal((await graph(server.url, folder.path, 'run', 'survey.yaml', 'PRODUCT')).code, 2);
});

test('watch fails for a failed run and names the command that resumes it', async () => {
  const failed = { ...progress, status: 'failed', nodes: { research: { status: 'failed', output: null, error: 'the model is away' } } };
  const answers: Record<string, unknown> = {
    'graph.status': { ...failed, stats: { ...stats, completed: 0, failed: 1 } },
    'graph.outputs': { graphId, outputs: { research: null }, source: 'disk' },
  };
  await using server = await startServer({ call: ({ method }) => answers[method] });
  const { code, stdout, stderr } = await graph(server.url, '.', 'watch', graphId);
  assert.equal(code, 1);
  assert.match(stdout, /✗ research: failed: the model is away/);
  assert.match(stderr, /graph resume run_1/);
});
