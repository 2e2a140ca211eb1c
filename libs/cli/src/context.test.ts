import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { locate } from './context.ts';
import { TOKEN } from './command.fixture.ts';

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

test('flags win over variables, variables over what the data directory says', () => {
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

test('with nothing said and nothing there it is this machine, without a token', () => {
  const where = locate({ data: join(root, 'absent') }, {});
  assert.deepEqual(
    [where.url, where.urlFrom, where.token, where.run, where.local],
    ['http://127.0.0.1:4766', 'default', undefined, undefined, true],
  );
});

test('the saved token goes to this machine and the server that saved it alone', () => {
  for (const url of ['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9', 'http://127.0.0.1:5000/'])
    assert.equal(locate({ data: used, url }, {}).token, TOKEN, url);
  for (const url of ['https://gateway.example', 'http://127.0.0.1.example', 'http://10.0.0.1:5000'])
    assert.equal(locate({ data: used, url }, {}).token, undefined, url);
  const remote = dataWith('remote', { 'run.json': '{"url":"https://gateway.example"}', token: TOKEN });
  assert.equal(locate({ data: remote }, {}).token, TOKEN);
});

test('a token file is read, and one that is not there is an error, not a question without a token', () => {
  assert.equal(locate({ data: used }, { SWITCHYARD_TOKEN_FILE: join(used, 'token') }).tokenFrom, 'SWITCHYARD_TOKEN_FILE');
  assert.throws(
    () => locate({ data: used }, { SWITCHYARD_TOKEN_FILE: join(used, 'no') }),
    /SWITCHYARD_TOKEN_FILE names .*no, which is not there/,
  );
  assert.throws(() => locate({}, { SWITCHYARD_TOKEN: 'a', SWITCHYARD_TOKEN_FILE: 'b' }), /both set/);
});

test('an address that is none is refused without being repeated', () => {
  for (const url of ['localhost:4766', 'secret', 'ftp://x', 'http://user:secret@x']) {
    assert.throws(
      () => locate({ url }, {}),
      (error: Error) => error.message.startsWith('--url must be an address') && !error.message.includes('secret'),
    );
  }
});

test('a run file that is half written says nothing', () => {
  for (const [at, content] of ['', '{"url":', '[]', '{"url":5}', '{"url":"nonsense"}'].entries()) {
    assert.equal(locate({ data: dataWith(`half-${at}`, { 'run.json': content }) }, {}).urlFrom, 'default', content);
  }
});
