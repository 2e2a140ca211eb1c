import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const runs = (url: string, ...args: string[]) => runCommand(['runs', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const run = (name: string, caller: string) => ({
  runId: `run_${name.padEnd(22, '0')}`,
  agentId: 'default',
  task: `task of ${name}`,
  status: 'running',
  depth: 1,
  sessionKey: name,
  callerSessionKey: caller,
  startedAt: 1763719200000,
  durationMs: 4100,
});
const list = { runs: [run('leaf', 'child1'), run('child1', 'top'), run('child2', 'top'), run('top', 'default:alice:gateway')], total: 4 };

test('list shows runs as a tree, and kill and steer find one by a unique beginning of its id', async () => {
  const calls: Call[] = [];
  const reply = (method: string) => (method === 'subagent.list' ? list : { killed: true, steered: true, runId: run('top', '').runId });
  await using server = await startServer({ call: (call) => (calls.push(call), reply(call.method)) });
  const { stdout } = await runs(server.url);
  const ids = stdout.split('\n').flatMap((line) => /^[│├└ ]*run_[a-z0-9]+/.exec(line)?.[0].replace(/0+$/, '') ?? []);
  assert.deepEqual(ids, ['run_top', '├ run_child1', '│ └ run_leaf', '└ run_child2']);
  assert.match((await runs(server.url, 'kill', 'run_top')).stdout, /^Killed run_top0+\.\n$/);
  assert.match((await runs(server.url, 'steer', 'run_top', '--message', 'stop')).stdout, /^Steered run_top0+\.\n$/);
  assert.equal((await runs(server.url, 'kill', 'run_child')).code, 2);
  assert.equal((await runs(server.url, 'kill', 'run_x')).code, 1);
  assert.equal((await runs(server.url, 'steer', 'run_top')).code, 2);
  const target = run('top', '').runId;
  assert.deepEqual(
    calls.filter(({ method }) => method !== 'subagent.list').map(({ params }) => params),
    [{ target }, { target, message: 'stop' }],
  );
});

test('show prints a run with its result, and --minutes reaches further back', async () => {
  const calls: Call[] = [];
  const status = { ...run('leaf', 'child1'), status: 'completed', response: 'the second offer' };
  await using server = await startServer({
    call: (call) => (calls.push(call), call.method === 'subagent.list' ? list : status),
  });
  assert.deepEqual(JSON.parse((await runs(server.url, 'show', 'run_leaf')).stdout), status);
  assert.deepEqual(calls.at(-1)?.params, { run_id: status.runId });
  assert.equal((await runs(server.url, 'list', '--minutes', '600')).code, 0);
  assert.deepEqual(calls.at(-1)?.params, { recentMinutes: 600 });
  assert.equal((await runs(server.url, 'list', '--minutes', 'all')).code, 2);
});
