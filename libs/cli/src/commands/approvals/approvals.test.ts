import assert from 'node:assert/strict';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const POLL_MS = 100;
const approvals = (url: string, ...args: string[]) =>
  runCommand(['approvals', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });
const request = (requestId: string) => ({
  requestId,
  toolName: 'cron_remove',
  action: 'cron.remove',
  params: { name: 'nightly' },
  agentId: 'default',
  sessionKey: 'default:alice:gateway',
  trustLevel: 'user',
  createdAt: 1763719200000,
  timeoutMs: 300000,
});
const requests = [request('appr_4fT0mUq2Zs8KxY1bNcVdGh'), request('appr_4fT1mUq2Zs8KxY1bNcVdGh')];

test('list shows the waiting calls, and approve and deny find one by a unique beginning of its id', async () => {
  const calls: Call[] = [];
  const reply = { requestId: requests[0]?.requestId, approved: true, approvedBy: 'operator', reason: null };
  await using server = await startServer({
    call: (call) => (calls.push(call), call.method === 'admin.approval.pending' ? { requests, total: 2 } : reply),
  });
  const { stdout } = await approvals(server.url);
  assert.match(stdout, /appr_4fT0mUq2 +cron\.remove +default +default:alice:gateway +2025-11-21T10:05:00 +\{"name":"nightly"\}/);
  assert.equal((await approvals(server.url, 'approve', 'appr_4fT0')).stdout, 'Approved appr_4fT0mUq2Zs8KxY1bNcVdGh.\n');
  assert.equal((await approvals(server.url, 'deny', 'appr_4fT1', '--reason', 'no')).code, 0);
  assert.equal((await approvals(server.url, 'approve', 'appr_4fT')).code, 2);
  assert.equal((await approvals(server.url, 'approve', 'appr_x')).code, 1);
  assert.deepEqual(
    calls.filter(({ method }) => method === 'admin.approval.resolve').map(({ params }) => params),
    [
      { id: 'appr_4fT0mUq2Zs8KxY1bNcVdGh', approved: true },
      { id: 'appr_4fT1mUq2Zs8KxY1bNcVdGh', approved: false, reason: 'no' },
    ],
  );
});

test('show prints a waiting call with its arguments, and answer answers a question', async () => {
  const calls: Call[] = [];
  const question = { ...request('ask_7Hk2mUq2Zs8KxY1bNcVdGh'), action: 'ask_user', params: { question: 'Which one?' } };
  await using server = await startServer({
    call: (call) => (
      calls.push(call),
      call.method === 'admin.approval.pending'
        ? { requests: [...requests, question], total: 3 }
        : { requestId: question.requestId, approved: true }
    ),
  });
  assert.deepEqual(JSON.parse((await approvals(server.url, 'show', 'appr_4fT1')).stdout), requests[1]);
  assert.equal((await approvals(server.url, 'show', 'appr_4fT')).code, 2);
  assert.equal((await approvals(server.url, 'answer', 'ask_7', 'the blue one')).stdout, `Answered ${question.requestId}.\n`);
  assert.deepEqual(calls.at(-1)?.params, { id: question.requestId, approved: true, answer: 'the blue one' });
});

test('watch prints each waiting call once, as it arrives', async () => {
  let polls = 0;
  await using server = await startServer({ call: () => ({ requests: requests.slice(0, (polls += 1)), total: 0 }) });
  const child = startCommand(['approvals', 'watch', '--url', server.url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });
  let printed = '';
  child.stdout.on('data', (data: Buffer) => (printed += data.toString()));
  // The calls of the first polls are repeated by the later ones.
  while (polls < 4) await once(child.stdout, 'data', { signal: AbortSignal.timeout(POLL_MS) }).catch(() => undefined);
  child.kill('SIGINT');
  await once(child, 'close');
  const ids = printed.split('\n').flatMap((line) => /^appr_\w+/.exec(line)?.[0] ?? []);
  assert.deepEqual(ids, ['appr_4fT0mUq2', 'appr_4fT1mUq2']);
});
