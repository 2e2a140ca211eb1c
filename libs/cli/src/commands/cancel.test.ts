import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const TURN = 'turn_4fT0mUq2Zs8KxY1bNcVdGh';
const cancel = (url: string, ...args: string[]) => runCommand(['cancel', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

test('cancels one turn or all turns of a session', async () => {
  const calls: Call[] = [];
  const turns = [
    { turnId: TURN, state: 'cancelled' },
    { turnId: TURN.replace('4', '5'), state: 'done' },
  ];
  await using server = await startServer({ call: (call) => (calls.push(call), { cancelled: true, sessionKey: 'default:a:b', turns }) });
  const { code, stdout } = await cancel(server.url, TURN);
  assert.deepEqual([code, stdout], [0, `${TURN} cancelled\n${TURN.replace('4', '5')} done\n`]);
  await cancel(server.url, '--agent', 'oslo', '--session', 'notes');
  await cancel(server.url);
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['agent.cancel', { turnId: TURN }],
      ['agent.cancel', { agentId: 'oslo', sessionKey: 'notes' }],
      ['agent.cancel', {}],
    ],
  );
});

test('prints a note if there is nothing to cancel', async () => {
  const result = { cancelled: false, sessionKey: 'default:a:b', turns: [] };
  await using server = await startServer({ call: () => result });
  const { code, stdout, stderr } = await cancel(server.url);
  assert.deepEqual([code, stdout, stderr], [0, '', 'You have no running or queued turn in default:a:b.\n']);
  assert.deepEqual(JSON.parse((await cancel(server.url, '-o', 'json')).stdout), result);
});

test('rejects two turns', async () => {
  await using server = await startServer();
  const { code, stderr } = await cancel(server.url, TURN, TURN);
  assert.equal(code, 2);
  assert.match(stderr, /cancel takes at most one turn id/);
});
