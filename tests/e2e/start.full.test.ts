import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { services } from '@switchyard/embedded';
import { tempDir } from '@switchyard/testkit';
import { launch, post, refusal, startEmbedded } from './embedded.ts';

const execute = (message: string): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.execute', params: { message } });
const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.list', params: {} });
const history = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.history', params: {} });

test('the banner shows correct facts', async () => {
  await using product = await startEmbedded();
  const banner = product.process.output();
  const all = services.length + 1; // and the gateway
  for (const told of [
    'in-process',
    `${all}/${all} ready`,
    'development models',
    product.url,
    product.data,
    'switchyard --data',
    ' token   prints it',
  ]) {
    assert.ok(banner.includes(told), `the banner does not say ${told}:\n${banner}`);
  }
  assert.ok(!banner.includes(product.token), 'a token is printed to what is no terminal');
  assert.match(product.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await fetch(`${product.url}/health`)).status, 200);
});

test('warns in banner and log when the product is reachable from other machines, unless allowed', async () => {
  for (const isKnown of [false, true]) {
    const env = { SWITCHYARD_HOST: '0.0.0.0', SWITCHYARD_GATEWAY__ALLOW_INSECURE_HTTP: String(isKnown) };
    await using product = await startEmbedded({ env });
    await product.process.end('SIGTERM'); // the log is complete when the process has ended
    const log = readFileSync(`${product.data}/logs/daemon.log`, 'utf8');
    assert.equal(/^ {2}warning .*clear text.*SWITCHYARD_HOST=127\.0\.0\.1/m.test(product.process.output()), !isKnown);
    assert.equal(/"level":40,.*responses travel in clear text/.test(log), !isKnown);
  }
});

test('names an unread setting on the terminal, in the log and in gateway.status', async () => {
  await using product = await startEmbedded({ env: { SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED: 'false' } });
  const status = await post(product, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'gateway.status', params: {} }));
  await product.process.end('SIGTERM'); // the log is complete when the process has ended
  const log = readFileSync(`${product.data}/logs/daemon.log`, 'utf8');
  assert.match(
    product.process.output(),
    /^ {2}no effect +autoReplyEngine\.enabled \(SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED\): not used by any service yet$/m,
  );
  assert.equal(
    log.split('\n').filter((line) => /"level":40,.*autoReplyEngine\.enabled \(SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED\)/.test(line)).length,
    1,
  );
  assert.match(status.text, /"notInForce":\[{"path":"autoReplyEngine\.enabled","from":"SWITCHYARD_AUTO_REPLY_ENGINE__ENABLED"}\]/);
});

test('files of the data directory are private', async () => {
  await using dir = await tempDir();
  await using product = await startEmbedded({ data: `${dir.path}/made-by-the-start` });
  assert.equal(statSync(product.data).mode & 0o777, 0o700);
  for (const file of ['token', 'run.json', 'store/sessions.db', 'store/secrets.db']) {
    assert.equal(statSync(`${product.data}/${file}`).mode & 0o077, 0, `${file} is readable by others`);
  }
});

test('a restart keeps sessions and token; SIGTERM ends with 0 and leaves no run.json', async () => {
  await using data = await tempDir();
  let token: string;
  {
    await using first = await startEmbedded({ data: data.path });
    token = first.token;
    assert.equal((await post(first, execute('remember me'))).status, 200);
    assert.deepEqual(await first.process.end('SIGTERM'), { code: 0, signal: null });
    assert.equal(existsSync(`${data.path}/run.json`), false);
  }
  await using second = await startEmbedded({ data: data.path });
  assert.equal(second.token, token);
  assert.match((await post(second, history)).text, /remember me/);
});

test('SIGTERM lets a running turn finish', async () => {
  await using data = await tempDir();
  {
    await using product = await startEmbedded({ data: data.path, env: { SWITCHYARD_MODELS__DEFAULT_MODEL: 'dev/slow' } });
    const answer = post(product, execute('slowly'));
    await product.process.line(/^Try:/m);
    await turnIsRunning(product.url, product.token);
    assert.equal((await product.process.end('SIGTERM')).code, 0);
    assert.match((await answer).text, /dev\/slow.*slowly/);
  }
  await using again = await startEmbedded({ data: data.path });
  assert.match((await post(again, history)).text, /slowly/);
});

async function turnIsRunning(url: string, token: string): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.list', params: {} });
  for (;;) {
    const response = await fetch(`${url}/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    });
    if ((await response.text()).includes('sessionKey')) return;
  }
}

test('a second instance on the same data names the process that uses it', async () => {
  await using product = await startEmbedded();
  await using second = await launch(product.data);
  const said = await refusal(second);
  assert.ok(said.includes(String(product.process.pid)) && said.includes(product.data), said);
  assert.equal(said.trim().split('\n').length, 1);
});

test('a busy port prints one sentence and the next command', async (t) => {
  await using data = await tempDir();
  const squatter = createServer().listen(0, '127.0.0.1');
  t.after(() => squatter.close());
  await once(squatter, 'listening');
  const address = squatter.address();
  const port = typeof address === 'object' && address ? String(address.port) : '';
  await using refused = await launch(data.path, { SWITCHYARD_PORT: port });
  assert.match(await refusal(refused), new RegExp(`port ${port} .* is in use.*SWITCHYARD_PORT=0 make start\\n$`));
});

test('an unusable data directory prints one sentence', async () => {
  await using data = await tempDir();
  writeFileSync(`${data.path}/file`, '');
  await using refused = await launch(`${data.path}/file/below`);
  assert.match(await refusal(refused), /data directory .* cannot be used.*SWITCHYARD_DATA=.*\n$/);
});

test('an unknown setting or a short token prints a sentence with the variable', async () => {
  await using data = await tempDir();
  for (const [name, value] of [
    ['SWITCHYARD_GATEWAY__PROT', '1'],
    ['SWITCHYARD_TOKEN', 'short'],
    ['SWITCHYARD_BUS', 'carrier-pigeon:'],
    ['SWITCHYARD_BUS', 'nats://:::'],
    ['SWITCHYARD_STORE', ':::'],
    ['SWITCHYARD_URL', ':::'],
    ['OPENAI_BASE_URL', 'localhost:11434'],
    ['SWITCHYARD_PROVIDERS__ENTRIES__X', '{"type":"openai-compatible","baseUrl":":::"}'],
  ] as const) {
    await using refused = await launch(data.path, { [name]: value });
    const said = await refusal(refused);
    assert.ok(said.includes(name), said);
    assert.ok(!/\n\s+at /.test(said), 'a stack is not a sentence');
  }
});

test('an invalid store or a disabled gateway prints a sentence', async () => {
  await using data = await tempDir();
  for (const [name, value, said] of [
    ['SWITCHYARD_STORE', 'sqlite:/dev/null/store', /cannot write to .*\/dev\/null\/store/],
    ['SWITCHYARD_GATEWAY__ENABLED', 'false', /gateway\.enabled is false/],
  ] as const) {
    await using refused = await launch(data.path, { [name]: value });
    const sentence = await refusal(refused);
    assert.match(sentence, said);
    assert.equal(sentence.trim().split('\n').length, 1);
  }
});

test('tenantId moves the tokens, the agents and the turns to another tenant', async () => {
  await using data = await tempDir();
  const env = { SWITCHYARD_TENANT_ID: 'acme & sons' };
  {
    await using product = await startEmbedded({ data: data.path, env, config: { agents: { filed: {} } } });
    assert.match((await post(product, execute('hello acme'))).text, /hello acme/);
    const { result } = JSON.parse((await post(product, list)).text) as { result: { sessions: { sessionKey: string }[] } };
    assert.ok(
      result.sessions.every(({ sessionKey }) => sessionKey.includes('acme & sons')) && result.sessions.length === 1,
      JSON.stringify(result),
    );
    const agent = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agents.create', params: { name: 'oslo' } });
    assert.match((await post(product, agent)).text, /"created":true/);
    const agents = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agents.list', params: {} });
    assert.match((await post(product, agents)).text, /\["default","filed","oslo"\]/);
  }
  await using declared = await startEmbedded({ data: data.path, env: { ...env, SWITCHYARD_TOKEN: 'operator-chosen-'.padEnd(40, 'x') } });
  assert.match((await post(declared, history)).text, /hello acme/);
});

test('a rotated or revoked saved token stays invalid, and the next start reports it', async () => {
  await using data = await tempDir();
  const call = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  {
    await using product = await startEmbedded({ data: data.path });
    assert.match((await post(product, call('tokens.rotate', { id: 'first' }))).text, /"rotated":true/);
    assert.equal((await post(product, history)).status, 401);
  }
  await using again = await startEmbedded({ data: data.path });
  assert.match(again.process.output(), /token +the saved token is no longer valid/);
  assert.equal((await post(again, history)).status, 401);
});

test('the first token can be revoked once another exists, and stays revoked', async () => {
  await using data = await tempDir();
  const call = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  {
    await using product = await startEmbedded({ data: data.path });
    assert.match((await post(product, call('tokens.revoke', { id: 'first' }))).text, /LAST_ADMIN/);
    await post(product, call('tokens.create', { id: 'mine', scopes: ['*'] }));
    assert.match((await post(product, call('tokens.revoke', { id: 'first' }))).text, /"revoked":true/);
  }
  await using again = await startEmbedded({ data: data.path });
  assert.equal((await post(again, history)).status, 401);
});

test('SWITCHYARD_TOKEN is the first token, and the CLI finds it', async () => {
  const token = 'operator-chosen-'.padEnd(40, 'x');
  await using product = await startEmbedded({ env: { SWITCHYARD_TOKEN: token } });
  assert.equal(product.token, token);
  assert.equal((await post(product, execute('hello'))).status, 200);
  assert.ok(!readFileSync(`${product.data}/logs/daemon.log`, 'utf8').includes(token), 'a token is in the log');
});
