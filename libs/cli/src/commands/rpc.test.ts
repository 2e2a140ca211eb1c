import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const env = { SWITCHYARD_TOKEN: TOKEN };
const rpc = (url: string, args: string[], input?: string) =>
  runCommand(['rpc', ...args, '--url', url], { cwd, env, ...(input === undefined ? {} : { input }) });

test('reads params from words, JSON or standard input and prints JSON', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), { pong: true }) });
  const typed = await rpc(server.url, ['agent.execute', 'message=hello world', 'sessionKey.userId=alice', 'scopes=["rpc"]']);
  await rpc(server.url, ['session.list', '--params', '{"limit":3}', '-o', 'json']).then(({ stdout }) =>
    assert.equal(stdout, '{"pong":true}\n'),
  );
  await rpc(server.url, ['session.list', '--params', '-'], '{"limit":4}');
  assert.deepEqual([typed.code, typed.stdout, typed.stderr], [0, '{\n  "pong": true\n}\n', '']);
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['agent.execute', { message: 'hello world', sessionKey: { userId: 'alice' }, scopes: ['rpc'] }],
      ['session.list', { limit: 3 }],
      ['session.list', { limit: 4 }],
    ],
  );
});

test('prints every issue of rejected params', async () => {
  const issue = { path: 'message', expected: 'string', received: 'number', message: 'expected string, got number' };
  const error = {
    code: -32602,
    message: 'Invalid params: message: expected string, got number',
    data: { code: 'INVALID_ARGUMENT', requestId: 'req_7', retryable: false, issues: [issue] },
  };
  await using server = await startServer({
    call: () => {
      throw error;
    },
  });
  const { code, stdout, stderr } = await rpc(server.url, ['agent.execute', 'message=3']);
  assert.deepEqual([code, stdout], [1, '']);
  const [sentence, facts, line, next] = stderr.split('\n');
  assert.equal(sentence, 'error: Invalid params.');
  assert.equal(facts, '  INVALID_ARGUMENT · request req_7');
  assert.equal(line, '  message: expected string, got number');
  assert.match(next ?? '', /switchyard rpc agent\.execute --help$/);
  const json = JSON.parse((await rpc(server.url, ['agent.execute', 'message=3', '-o', 'json'])).stderr) as { error: { issues: unknown } };
  assert.deepEqual(json.error.issues, [issue]);
});

test('suggests similar names for an unknown method', async () => {
  await using server = await startServer({
    call: () => {
      throw { code: -32601, message: 'Method not found', data: { code: 'UNIMPLEMENTED', requestId: 'req_8', retryable: false } };
    },
  });
  const typo = await rpc(server.url, ['sesion.lst']);
  assert.equal(typo.code, 1);
  assert.match(
    typo.stderr,
    /^error: Unknown method sesion\.lst\. Did you mean session\.list.*\n {2}UNIMPLEMENTED · request req_8\n {2}next: .*switchyard rpc session\.list --help\n$/,
  );
  const elsewhere = await rpc(server.url, ['sessions.getHistory.history']);
  assert.match(elsewhere.stderr, /Did you mean session\.history/);
  const stranger = await rpc(server.url, ['quite.another.thing']);
  assert.match(stranger.stderr, /Unknown method quite\.another\.thing\.\n/);
  assert.match(stranger.stderr, /next: .*switchyard rpc --help\n$/);
});

test('prints when to retry after too many calls', async () => {
  await using server = await startServer({
    call: () => {
      throw {
        code: -32000,
        message: 'Rate limit exceeded',
        data: { code: 'RESOURCE_EXHAUSTED', requestId: 'r', retryable: true, retryAfterMs: 1500 },
      };
    },
  });
  assert.match((await rpc(server.url, ['system.ping'])).stderr, /Rate limit exceeded\. Retry in 2 s\.\n.*\n {2}next: sleep 2\n$/);
});

test('prints method help without a server', async () => {
  const nowhere = 'http://127.0.0.1:1';
  const [all, one, none] = await Promise.all([
    rpc(nowhere, ['--help']),
    rpc(nowhere, ['agent.execute', '--help']),
    rpc(nowhere, ['agent.exeucte', '--help']),
  ]);
  assert.match(all.stdout, /^ {2}session\. +.*\bhistory\b/m);
  assert.match(one.stdout, /^agent\.execute {3}scope rpc, service sessions\n/);
  assert.match(one.stdout, /^ {2}message +string · required$/m);
  assert.match(one.stdout, /switchyard rpc agent\.execute message=hello sessionKey\.userId=alice/);
  assert.match(one.stdout, /^Events: message:received, message:streaming, /m);
  assert.deepEqual([all.code, one.code, none.code], [0, 0, 2]);
  assert.match(none.stderr, /Did you mean agent\.execute\?/);
});

test('help marks methods that are not served yet', async () => {
  const nowhere = 'http://127.0.0.1:1';
  const [all, unbuilt, served] = await Promise.all([
    rpc(nowhere, ['--help']),
    rpc(nowhere, ['channels.list', '--help']),
    rpc(nowhere, ['session.list', '--help']),
  ]);
  const [answered = '', others = ''] = all.stdout.split('\nNot implemented yet\n');
  assert.match(answered, /^ {2}session\. +.*\blist\b/m);
  assert.doesNotMatch(answered, /^ {2}channels\. /m);
  assert.match(others, /^ {2}channels\. +.*\blist\b/m);
  assert.match(unbuilt.stdout, /^Not served: its channels service is not implemented yet\.$/m);
  assert.doesNotMatch(served.stdout, /Not served/);
});

test('explains a call to a method that is not served yet', async () => {
  for (const error of [
    { code: -32603, message: 'x', data: { code: 'UNAVAILABLE', reason: 'NO_RESPONDERS', requestId: 'req_9', retryable: true } },
    { code: -32601, message: 'x', data: { code: 'UNIMPLEMENTED', requestId: 'req_9', retryable: false } },
  ]) {
    await using server = await startServer({
      call: ({ method }) => {
        if (method === 'graph.list') return { graphs: [] };
        throw error;
      },
    });
    const missing = await rpc(server.url, ['channels.list']);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /^error: channels\.list is not available: its channels service is not implemented yet\.\n/);
    assert.match(missing.stderr, /next: .*switchyard rpc --help\n$/);
    assert.equal((await rpc(server.url, ['graph.list'])).code, 0);
  }
});
