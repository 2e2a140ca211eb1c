import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand, startServer, TOKEN } from './command.fixture.ts';

const cwd = mkdtempSync(join(tmpdir(), 'command-'));
after(() => rmSync(cwd, { recursive: true }));
const run = (args: string[], env: Record<string, string> = {}) => runCommand(args, { cwd, env: { SWITCHYARD_DATA: cwd, ...env } });

test('prints the short help without arguments', async () => {
  const { code, stdout, stderr } = await run([]);
  assert.deepEqual([code, stderr], [0, '']);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 5);
  for (const [at, command] of ['start', 'ask "hello"', 'rpc session.list', 'status', 'help'].entries())
    assert.ok(lines[at]?.includes(`switchyard ${command}`));
});

test('prints general help and help of a command', async () => {
  const { stdout } = await run(['help']);
  for (const name of ['start', 'ask', 'rpc', 'token', 'url', 'status', 'doctor']) assert.match(stdout, new RegExp(`^  ${name}`, 'm'));
  assert.match(stdout, /0 success · 1 failure or refusal · 2 wrong usage · 130 stopped/);
  const [asked, told] = await Promise.all([run(['ask', '--help']), run(['help', 'ask'])]);
  assert.deepEqual([asked.code, asked.stdout], [0, told.stdout]);
  assert.match(asked.stdout, /--session <key>/);
});

test('prints the version', async () => {
  const { code, stdout } = await run(['--version']);
  assert.equal(code, 0);
  assert.match(stdout, /^switchyard \d+\.\d+\.\d+\n$/);
});

test('exits with 2 and prints the next command on a usage error', async () => {
  const wrong: [string[], RegExp, RegExp][] = [
    [['stauts'], /Unknown command stauts\. Did you mean status/, /switchyard status$/],
    [['zzz'], /Unknown command zzz\.$/, /switchyard help$/],
    [['constructor'], /Unknown command constructor/, /help$/],
    [['ask', '--sesion', 'x', 'hi'], /Unknown flag --sesion\. Did you mean --session\?/, /ask --help$/],
    [['ask', 'hi', '--agent'], /--agent needs a value/, /ask --help$/],
    [['ask', 'hi', '--url='], /--url needs a value/, /ask --help$/],
    [['status', '-o', 'xml'], /--output must be table, json, yaml or ndjson, not xml/, /help$/],
    [['ask'], /ask needs a message/, /ask "hello"$/],
    [['rpc'], /rpc needs a method/, /rpc --help$/],
    [['start', '--port', '70000'], /--port must be a number/, /start --port 0$/],
  ];
  const results = await Promise.all(wrong.map(([args]) => run(args)));
  for (const [at, [args, sentence, next]] of wrong.entries()) {
    const { code, stdout, stderr } = results[at] ?? assert.fail();
    const [first = '', second = '', ...more] = stderr.trimEnd().split('\n');
    assert.deepEqual([code, stdout, more], [2, '', []], args.join(' '));
    assert.match(first, sentence);
    assert.match(second, /^ {2}next: /);
    assert.match(second, next);
  }
});

test('prints failures as JSON with machine-readable output', async () => {
  for (const form of ['yaml', 'ndjson']) assert.ok('error' in JSON.parse((await run(['stauts', '-o', form])).stderr), form);
  const { code, stdout, stderr } = await run(['stauts', '--output', 'json']);
  assert.deepEqual([code, stdout], [2, '']);
  const { error } = JSON.parse(stderr) as { error: Record<string, string> };
  assert.match(error['message'] ?? '', /Did you mean status/);
  assert.match(error['next'] ?? '', /switchyard status$/);
});

test('token prints the saved token, or the command to start', async () => {
  const without = await run(['token']);
  assert.deepEqual([without.code, without.stdout], [1, '']);
  assert.match(without.stderr, /No token is saved.*\n {2}next: .*switchyard start\n$/);
  writeFileSync(join(cwd, 'token'), `${TOKEN}\n`);
  const saved = await run(['token']);
  assert.deepEqual(saved, { code: 0, stdout: `${TOKEN}\n`, stderr: '' });
  assert.deepEqual(JSON.parse((await run(['token', '-o', 'json'])).stdout), { token: TOKEN });
  assert.equal((await run(['token', '-o', 'yaml'])).stdout, `token: ${TOKEN}\n`);
  assert.equal((await run(['token', '-o', 'ndjson'])).stdout, `{"token":"${TOKEN}"}\n`);
});

test('url prints the address of the running server', async () => {
  assert.deepEqual(await run(['url']), { code: 0, stdout: 'http://127.0.0.1:4766\n', stderr: '' });
  assert.deepEqual(await run(['url', '--openai']), { code: 0, stdout: 'http://127.0.0.1:4766/openai/v1\n', stderr: '' });
  writeFileSync(join(cwd, 'run.json'), JSON.stringify({ url: 'http://127.0.0.1:5000', processes: [] }));
  const running = await run(['url']);
  const json = await run(['url', '-o', 'json']);
  rmSync(join(cwd, 'run.json'));
  assert.deepEqual(running, { code: 0, stdout: 'http://127.0.0.1:5000\n', stderr: '' });
  assert.deepEqual(JSON.parse(json.stdout), { url: 'http://127.0.0.1:5000' });
});

test('exits with 1 and suggests a command for an unreachable server, a rejected token and a missing scope', async () => {
  await using server = await startServer({
    call: () => {
      throw {
        code: -32603,
        message: "Insufficient scope: requires 'admin'",
        data: { code: 'PERMISSION_DENIED', requestId: 'req_1', retryable: false },
      };
    },
  });
  const gone = await startServer();
  await gone[Symbol.asyncDispose]();
  const [nothing, refused, scope] = await Promise.all([
    run(['rpc', 'system.ping', '--url', gone.url, '--token', 'wrong-token']),
    run(['rpc', 'system.ping', '--url', server.url], { SWITCHYARD_TOKEN: 'wrong-token' }),
    run(['rpc', 'agents.list', '--url', server.url, '--token', TOKEN]),
  ]);
  assert.deepEqual([nothing.code, refused.code, scope.code], [1, 1, 1]);
  assert.match(nothing.stderr, /^error: No server answers at http.*\n.*\n {2}next: .*switchyard start\n$/);
  assert.match(refused.stderr, /does not accept the token in SWITCHYARD_TOKEN.*\n(.*\n)* {2}next: unset SWITCHYARD_TOKEN\n$/);
  assert.match(
    scope.stderr,
    /^error: Insufficient scope: requires 'admin'\.\n {2}PERMISSION_DENIED · request req_1\n {2}next: read -rs SWITCHYARD_TOKEN && export SWITCHYARD_TOKEN SWITCHYARD_URL=http:\S+\n$/,
  );
  for (const { stdout, stderr } of [nothing, refused, scope]) {
    assert.equal(stdout, '');
    assert.doesNotMatch(stderr, /wrong-token|only-these-tests|\n\s+at /);
  }
});

test('does not send a token from the environment to the server of a run file', async () => {
  const tokens: string[] = [];
  await using server = await startServer({ onToken: (authorization) => tokens.push(authorization) });
  writeFileSync(join(cwd, 'run.json'), JSON.stringify({ url: server.url, processes: [] }));
  const ran = await Promise.all(
    [['status'], ['doctor'], ['ask', 'hi'], ['rpc', 'system.ping'], ['token']].map((args) =>
      run(args, { SWITCHYARD_TOKEN: 'of the environment' }),
    ),
  );
  rmSync(join(cwd, 'run.json'));
  assert.deepEqual(tokens, []);
  for (const { stdout, stderr } of ran) {
    assert.match(stdout + stderr, /The token in SWITCHYARD_TOKEN is not sent to http/);
    assert.doesNotMatch(stdout + stderr, /of the environment/);
  }
});

test('rejects an invalid address from a flag or variable', async () => {
  for (const url of [':::', 'http://', 'http://[::1', 'http://x:99999', 'localhost:4766', 'nats://127.0.0.1']) {
    for (const { code, stdout, stderr } of await Promise.all([run(['status', '--url', url]), run(['doctor'], { SWITCHYARD_URL: url })])) {
      assert.deepEqual([code, stdout], [2, ''], url);
      assert.match(
        stderr,
        /^error: (--url|SWITCHYARD_URL) must be an address such as http\S+, without user name and password\.\n {2}next: .*\n$/,
      );
    }
  }
});
