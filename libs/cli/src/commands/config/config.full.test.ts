import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, startServer, TOKEN, type Call } from '../../command.fixture.ts';

const cwd = tmpdir();
const run = (url: string, ...words: string[]) => runCommand(['config', ...words, '--url', url], { cwd, env: { SWITCHYARD_TOKEN: TOKEN } });

const gateway = { maxBatchSize: 50, rateLimit: { windowMs: 5 }, corsOrigins: ['a'], publicUrl: '' };
const SHA = '4f'.repeat(32);
const OLD = 'ab'.repeat(32);

/** Starts a server that responds like the registry and records all calls. */
async function served(answers: Record<string, (params: Record<string, unknown>) => unknown> = {}) {
  const calls: [string, Record<string, unknown>][] = [];
  const server = await startServer({
    call: ({ method, params }: Call) => {
      calls.push([method, params]);
      return answers[method]?.(params) ?? {};
    },
  });
  return { ...server, url: server.url, calls, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const reads = {
  'config.read': ({ section, origins }: Record<string, unknown>) => {
    const from = {
      'gateway.maxBatchSize': { layer: 'stored' },
      'gateway.corsOrigins': { layer: 'file', from: '/etc/a.yaml' },
      'gateway.publicUrl': { layer: 'default' },
    };
    if (section === undefined)
      return { config: { logLevel: 'info', gateway }, sections: ['gateway'], ...(origins ? { origins: from } : {}) };
    return origins ? { config: { gateway }, sections: ['gateway'], origins: from } : gateway;
  },
};

test('get prints a key as a value and a section as a table', async () => {
  await using server = await served(reads);
  assert.deepEqual(await run(server.url, 'get', 'gateway.maxBatchSize'), { code: 0, stdout: '50\n', stderr: '' });
  assert.equal((await run(server.url, 'get', 'logLevel')).stdout, 'info\n');
  const section = [
    'gateway.maxBatchSize        50',
    'gateway.rateLimit.windowMs  5',
    'gateway.corsOrigins         ["a"]',
    'gateway.publicUrl           ""',
    '',
  ];
  assert.deepEqual((await run(server.url, 'get', 'gateway')).stdout.split('\n'), section);
  assert.deepEqual(JSON.parse((await run(server.url, 'get', 'gateway.rateLimit', '-o', 'json')).stdout), { windowMs: 5 });
  assert.match((await run(server.url, 'get')).stdout, /^logLevel +info\ngateway\.maxBatchSize +50\n/);
  const none = await run(server.url, 'get', 'gateway.nothing');
  assert.deepEqual([none.code, /Unknown key gateway\.nothing\./.test(none.stderr)], [2, true]);
});

test('print shows the origin of every key', async () => {
  await using server = await served(reads);
  assert.deepEqual((await run(server.url, 'print', 'gateway')).stdout.split('\n'), [
    'gateway.maxBatchSize        50     stored',
    'gateway.rateLimit.windowMs  5',
    'gateway.corsOrigins         ["a"]  /etc/a.yaml',
    'gateway.publicUrl           ""     default',
    '',
  ]);
  assert.deepEqual(server.calls[0], ['config.read', { section: 'gateway', origins: true }]);
});

test('set writes JSON or text at any depth and prints the previous value', async () => {
  await using server = await served({
    'config.set': ({ value }) => ({
      ok: true,
      previous: 50,
      commitSha: SHA,
      ...(value === 9 ? { notInForce: ['gateway.maxBatchSize'] } : {}),
    }),
    'config.patch': () => ({ patched: true, commitSha: SHA, restarting: true }),
  });
  const set = await run(server.url, 'set', 'gateway.rateLimit.maxRequests', '9', '--message', 'less', '--base', OLD);
  assert.deepEqual([set.code, set.stdout], [0, 'gateway.rateLimit.maxRequests is 9 (before: 50): version 4f4f4f4f4f4f\n']);
  assert.match(set.stderr, /No service uses gateway\.maxBatchSize yet\./);
  await run(server.url, 'set', 'gateway.publicUrl', 'https://example.org');
  await run(server.url, 'set', 'gateway.publicUrl', 'null');
  assert.match((await run(server.url, 'set', 'logLevel', 'debug')).stdout, /^logLevel is "debug": version 4f4f4f4f4f4f\n$/);
  assert.deepEqual(server.calls, [
    ['config.set', { section: 'gateway', key: 'rateLimit.maxRequests', value: 9, baseSha: OLD, message: 'less' }],
    ['config.set', { section: 'gateway', key: 'publicUrl', value: 'https://example.org' }],
    ['config.set', { section: 'gateway', key: 'publicUrl', value: null }],
    ['config.patch', { logLevel: 'debug' }],
  ]);
});

test('history prints versions and lagging replicas', async () => {
  const entry = { sha: SHA, date: '2025-11-21T10:00:00.000Z', author: 'ops', message: 'config.set gateway.maxBatchSize' };
  const inForce = {
    sha: SHA,
    revision: 2,
    replicas: 2,
    lagging: [
      { replica: 'sessions.a', revision: 1 },
      { replica: 'sessions.b', refused: 'no' },
    ],
  };
  await using server = await served({ 'config.history': () => ({ entries: [entry], inForce }) });
  const { code, stdout, stderr } = await run(server.url, 'history', '--limit', '3');
  assert.deepEqual([code, stdout], [0, '4f4f4f4f4f4f  2025-11-21 10:00:00  ops  config.set gateway.maxBatchSize\n']);
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'sessions.a has not applied the newest version yet.',
    'sessions.b rejected the newest version: no',
  ]);
  assert.deepEqual(server.calls, [['config.history', { limit: 3 }]]);
  assert.equal((await run(server.url, 'history', '--limit', 'all')).code, 2);
});

test('diff prints the changes; rollback prints both versions', async () => {
  const diff = '--- a/gateway\n+++ b/gateway\n@@ -1 +1 @@\n-maxBatchSize: 1\n+maxBatchSize: 2\n';
  await using server = await served({
    'config.diff': ({ sha }) => ({ diff: sha === undefined ? diff : '' }),
    'config.rollback': ({ sha }) => ({ rolledBack: true, sha, newCommitSha: SHA, restarting: true }),
  });
  assert.equal((await run(server.url, 'diff')).stdout, diff);
  assert.match((await run(server.url, 'diff', OLD)).stderr, /Nothing differs\./);
  assert.equal((await run(server.url, 'rollback', OLD)).stdout, 'Version 4f4f4f4f4f4f restores version abababababab.\n');
  assert.deepEqual(server.calls.at(-1), ['config.rollback', { sha: OLD }]);
});

test('rejects unknown subcommands and flags with a suggestion', async () => {
  await using server = await served();
  const cases = {
    '': 'needs a subcommand',
    histroy: 'Did you mean history\\?',
    set: 'needs <key> and <value>',
    'rollback a b': 'takes no .*argument b',
    'set gateway 1': 'is a section',
  };
  for (const [words, sentence] of Object.entries(cases)) {
    const { code, stderr } = await run(server.url, ...words.split(' ').filter(Boolean));
    assert.deepEqual([code, new RegExp(sentence).test(stderr)], [2, true], stderr);
  }
  assert.match((await run(server.url, '--help')).stdout, /Usage: .*config <what>/);
});

const DIFF = '--- a/gateway\n+++ b/gateway\n@@ -1 +1 @@\n-maxBatchSize: 1\n+maxBatchSize: 2\n';

test('apply shows the diff, asks, and writes only on the compared version', async () => {
  let checked = { dryRun: true, valid: true, errors: [] as string[], diff: DIFF };
  await using server = await served({
    'config.history': () => ({ entries: [{ sha: SHA, date: '2025-11-21T10:00:00.000Z', message: 'x' }] }),
    'config.apply': ({ dryRun }) =>
      dryRun === true ? checked : { applied: true, sections: ['gateway'], commitSha: SHA, restarting: true },
  });
  const apply = (...flags: string[]) =>
    runCommand(['config', 'apply', '-', '--url', server.url, ...flags], {
      cwd,
      env: { SWITCHYARD_TOKEN: TOKEN },
      input: 'gateway:\n  maxBatchSize: 2\n',
    });
  const nobody = await apply();
  assert.deepEqual([nobody.code, nobody.stdout], [1, DIFF]);
  assert.match(nobody.stderr, /replaces the complete stored configuration\. Confirm with --yes, because the input is not a terminal\./);
  assert.equal(
    server.calls.filter(([method, params]) => method === 'config.apply' && params['dryRun'] !== true).length,
    0,
    'nothing is written',
  );
  const done = await apply('--yes', '--message', 'more');
  assert.deepEqual([done.code, done.stdout], [0, `${DIFF}1 sections: version 4f4f4f4f4f4f\n`]);
  assert.deepEqual(server.calls.at(-1), ['config.apply', { gateway: { maxBatchSize: 2 }, baseSha: SHA, message: 'more' }]);
  checked = { ...checked, valid: false, errors: ['gateway.maxBatchSize: too many'], diff: '' };
  const refused = await apply('--dry-run');
  assert.deepEqual([refused.code, /The change is invalid: gateway\.maxBatchSize: too many\./.test(refused.stderr)], [1, true]);
});

test('--dry-run of set, patch and rollback prints the diff', async () => {
  const checked = { dryRun: true, valid: true, errors: [], diff: DIFF };
  await using server = await served({ 'config.set': () => checked, 'config.patch': () => checked, 'config.rollback': () => checked });
  assert.equal((await run(server.url, 'set', 'gateway.maxBatchSize', '2', '--dry-run')).stdout, DIFF);
  assert.equal((await run(server.url, 'rollback', OLD, '--dry-run')).stdout, DIFF);
  assert.deepEqual(JSON.parse((await run(server.url, 'set', 'logLevel', 'debug', '--dry-run', '--json')).stdout), checked);
  for (const [, params] of server.calls) assert.equal(params['dryRun'], true);
});

test('validate reports issues by key without a server', async () => {
  const validate = (input: string) => runCommand(['config', 'validate', '-'], { cwd, input });
  assert.equal((await validate('gateway:\n  maxBatchSize: 2\n')).stdout, '- is valid\n');
  const wrong = await validate('gateway:\n  maxBatchSize: many\n');
  assert.deepEqual([wrong.code, /gateway\.maxBatchSize: expected number, got string/.test(wrong.stderr)], [1, true], wrong.stderr);
  assert.equal((await validate('a: [')).code, 2);
  assert.equal((await validate('just text')).code, 2);
});
