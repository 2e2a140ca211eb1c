import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chdir, cwd } from 'node:process';
import { after, test } from 'node:test';
import { locate, createNoTokenFailure } from './server-location.ts';
import { TOKEN } from '../command.fixture.ts';

const root = mkdtempSync(join(tmpdir(), 'context-'));
after(() => rmSync(root, { recursive: true }));

function dataWith(name: string, files: Record<string, string>): string {
  const data = join(root, name);
  mkdirSync(data);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(data, file), content);
  return data;
}

const process = { service: 'embedded', replica: 'r', pid: 1, ports: { http: 5000 }, log: 'x.log' };
const used = dataWith('used', { 'run.json': JSON.stringify({ url: 'http://127.0.0.1:5000', processes: [process] }), token: `${TOKEN}\n` });

test('flags take precedence over variables, and variables over the data directory', () => {
  const env = { SWITCHYARD_DATA: used, SWITCHYARD_URL: 'http://localhost:1', SWITCHYARD_TOKEN: 'from the environment' };
  const byFlag = locate({ url: 'http://localhost:2', token: 'from the flag' }, env);
  assert.deepEqual([byFlag.url, byFlag.urlFrom, byFlag.token], ['http://localhost:2', '--url', 'from the flag']);
  const byVariable = locate({}, env);
  assert.deepEqual(
    [byVariable.url, byVariable.urlFrom, byVariable.token],
    ['http://localhost:1', 'SWITCHYARD_URL', 'from the environment'],
  );
  const byData = locate({}, { SWITCHYARD_DATA: used, SWITCHYARD_URL: '', SWITCHYARD_TOKEN: '' });
  assert.deepEqual([byData.url, byData.urlFrom, byData.token, byData.tokenFrom], ['http://127.0.0.1:5000', 'run.json', TOKEN, 'saved']);
  assert.deepEqual(byData.run?.processes, [process]);
});

test('finds the data directory by the note of the last start', (t) => {
  const here = dataWith('here', {});
  const before = cwd();
  chdir(here);
  t.after(() => chdir(before));
  mkdirSync('.switchyard');
  assert.equal(locate({}, {}).data, '.switchyard');
  writeFileSync('.switchyard/data-dir', `${used}\n`);
  assert.deepEqual([locate({}, {}).data, locate({}, {}).token], [used, TOKEN]);
  assert.equal(locate({}, { SWITCHYARD_DATA: here }).data, here);
});

test('defaults to this machine without a token', () => {
  const where = locate({ data: join(root, 'absent') }, {});
  assert.deepEqual(
    [where.url, where.urlFrom, where.token, where.run, where.local],
    ['http://127.0.0.1:4766', 'default', undefined, undefined, true],
  );
});

test('sends a saved token only to the server that saved it', () => {
  for (const url of ['http://127.0.0.1:5000', 'http://127.0.0.1:5000/', 'http://localhost:5000', 'http://0.0.0.0:5000'])
    for (const where of [locate({ data: used, url }, {}), locate({ data: used }, { SWITCHYARD_URL: url })])
      assert.deepEqual([where.token, where.tokenFrom], [TOKEN, 'saved'], url);
  for (const url of [
    'http://127.0.0.1:5001',
    'http://127.0.0.1',
    'https://127.0.0.1:5000',
    'http://[::1]:5000',
    'https://gateway.example',
    'http://10.0.0.1:5000',
  ])
    for (const where of [locate({ data: used, url }, {}), locate({ data: used }, { SWITCHYARD_URL: url })])
      assert.deepEqual([where.token, where.withheld], [undefined, 'saved'], url);
  const remote = dataWith('remote', { 'run.json': '{"url":"https://gateway.example"}', token: TOKEN });
  assert.equal(locate({ data: remote }, {}).token, TOKEN);
  const stopped = dataWith('stopped', { token: TOKEN });
  for (const where of [locate({ data: stopped }, {}), locate({ data: stopped, url: 'http://127.0.0.1:5000' }, {})])
    assert.deepEqual([where.token, where.withheld], [undefined, 'saved']);
});

const GIVEN: readonly [from: string, flags: Record<string, string>, env: Record<string, string>][] = [
  ['--token', { token: 'given' }, {}],
  ['SWITCHYARD_TOKEN', {}, { SWITCHYARD_TOKEN: 'given' }],
  ['SWITCHYARD_TOKEN_FILE', {}, { SWITCHYARD_TOKEN_FILE: join(root, 'given') }],
];

for (const [from, flags, env] of GIVEN) {
  test(`a token from ${from} is sent to an address from a flag, the environment or the default`, () => {
    writeFileSync(join(root, 'given'), 'given\n');
    const url = 'https://gateway.example';
    for (const where of [
      locate({ data: used, ...flags, url }, env),
      locate({ data: used, ...flags }, { ...env, SWITCHYARD_URL: url }),
      locate({ data: join(root, 'absent'), ...flags }, env),
    ])
      assert.deepEqual([where.token, where.tokenFrom, where.withheld], ['given', from, undefined], where.url);
  });

  test(`a token from ${from} is not sent to an address from a run file`, () => {
    writeFileSync(join(root, 'given'), 'given\n');
    for (const url of ['http://127.0.0.1:5000', 'https://evil.example']) {
      const data = dataWith(`hostile-${from}-${new URL(url).port}`, { 'run.json': JSON.stringify({ url }), token: 'theirs' });
      const where = locate({ data, ...flags }, env);
      assert.deepEqual([where.url, where.token, where.tokenFrom, where.withheld], [url, undefined, undefined, from]);
      const { message, next } = createNoTokenFailure(where);
      assert.match(message, new RegExp(`token in ${from} is not sent to ${url}: only .*run\\.json names that server`));
      assert.equal(next, `export SWITCHYARD_URL=${url}`);
    }
    const own = dataWith(`own-${from}`, { 'run.json': '{"url":"http://127.0.0.1:5000"}', token: 'given' });
    assert.equal(locate({ data: own, ...flags }, env).token, 'given', 'who saved it knows it');
  });
}

test('quotes an address from a run file for the shell', () => {
  const data = dataWith('quoting', { 'run.json': JSON.stringify({ url: "http://x/;rm -rf ~'" }) });
  assert.match(
    createNoTokenFailure(locate({ data }, { SWITCHYARD_TOKEN: 'given' })).next,
    /^export SWITCHYARD_URL='http:\/\/x\/;rm -rf ~'\\'''$/,
  );
});

test('reads the token file and fails if it is missing', () => {
  assert.equal(locate({ data: used }, { SWITCHYARD_TOKEN_FILE: join(used, 'token') }).tokenFrom, 'SWITCHYARD_TOKEN_FILE');
  assert.throws(
    () => locate({ data: used }, { SWITCHYARD_TOKEN_FILE: join(used, 'no') }),
    /SWITCHYARD_TOKEN_FILE names .*no, which is missing/,
  );
  assert.throws(() => locate({}, { SWITCHYARD_TOKEN: 'a', SWITCHYARD_TOKEN_FILE: 'b' }), /both set/);
});

test('rejects an invalid address without repeating it', () => {
  for (const url of ['localhost:4766', 'secret', 'ftp://x', 'http://user:secret@x']) {
    assert.throws(
      () => locate({ url }, {}),
      (error: Error) => error.message.startsWith('--url must be an address') && !error.message.includes('secret'),
    );
  }
});

test('ignores an incomplete run file', () => {
  for (const [at, content] of ['', '{"url":', '[]', '{"url":5}', '{"url":"nonsense"}'].entries()) {
    assert.equal(locate({ data: dataWith(`half-${at}`, { 'run.json': content }) }, {}).urlFrom, 'default', content);
  }
});
