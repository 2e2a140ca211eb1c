import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { runCommand, startServer, TOKEN } from '../command.fixture.ts';
import { ROOT } from '../server/installation.ts';

const cwd = mkdtempSync(join(tmpdir(), 'completion-'));
after(() => rmSync(cwd, { recursive: true }));
const env = { SWITCHYARD_TOKEN: TOKEN };
const offered = async (...words: string[]): Promise<string[]> => {
  const { stdout } = await runCommand(['completion', 'words', '--', ...words], { cwd, env });
  return stdout.split('\n').filter(Boolean);
};

test('completes commands, subcommands, flags and values', async () => {
  assert.deepEqual(await offered('se'), ['sessions', 'secrets', 'services']);
  assert.deepEqual(await offered('sessions', 'co'), ['context', 'compact']);
  const flags = await offered('sessions', 'reset', '--');
  assert.ok(flags.includes('--memory') && flags.includes('--json') && !flags.includes('--since'), flags.join(' '));
  assert.deepEqual(await offered('sessions', 'list', '--kind', 'd'), ['dm']);
  assert.deepEqual(await offered('--output', 'j'), ['json']);
  assert.deepEqual(await offered('logs', 'level', 'debug', 'se'), ['sessions', 'secrets']);
  assert.deepEqual(await offered('tokens', 'create', 'a', '--scopes', 'rpc,a'), ['rpc,admin']);
  assert.deepEqual(await offered('config', 'apply', ''), ['<files>']);
  assert.ok((await offered('rpc', 'session.li')).includes('session.list'));
  assert.deepEqual(await offered('burn', ''), []);
});

test('completes names from the server, and none if it is unreachable', async () => {
  await using server = await startServer({ call: ({ method }) => (method === 'agents.list' ? { agents: ['default', 'oslo'] } : {}) });
  assert.deepEqual(await offered('agents', 'show', '--url', server.url, 'o'), ['oslo']);
  assert.deepEqual(await offered('memory', 'list', '--url', server.url, '--agent', 'd'), ['default']);
  assert.deepEqual(await offered('agents', 'show', '--url', 'http://127.0.0.1:9', ''), []);
});

test('bash completes session keys with colons', async () => {
  const key = 'default:alice:gateway';
  const session = { sessionKey: key, agentId: 'default', messageCount: 1, updatedAt: 1, metadata: {} };
  await using server = await startServer({ call: () => ({ sessions: [session] }) });
  symlinkSync(join(ROOT, 'bin/switchyard'), join(cwd, 'switchyard'));
  const { stdout: script } = await runCommand(['completion', 'bash'], { cwd });
  const complete = async (line: string): Promise<string> => {
    const given = `${script}\nCOMP_LINE=$1 COMP_POINT=\${#1}\n_switchyard\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    const variables = { ...env, SWITCHYARD_URL: server.url, PATH: `${cwd}:${process.env['PATH']}` };
    return (await promisify(execFile)('bash', ['-c', given, 'bash', line], { cwd, env: variables })).stdout;
  };
  assert.equal(await complete('switchyard sessions sh'), 'show\n');
  assert.equal(await complete('switchyard sessions show default:al'), 'alice:gateway\n');
});

test('prints the script of each shell and rejects others', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await runCommand(['completion', shell], { cwd });
    assert.deepEqual([code, stdout.includes('completion words --')], [0, true], shell);
  }
  assert.equal(spawnSync('bash', ['-n'], { input: (await runCommand(['completion', 'bash'], { cwd })).stdout }).status, 0);
  for (const words of [[], ['powershell'], ['bash', 'x']]) assert.equal((await runCommand(['completion', ...words], { cwd })).code, 2);
});
