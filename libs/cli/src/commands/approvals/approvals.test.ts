import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
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
