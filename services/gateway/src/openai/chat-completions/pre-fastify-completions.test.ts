import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Handler } from '@switchyard/bus';
import { createLogger } from '@switchyard/telemetry';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../gateway.fixture.ts';
import { SECURITY_HEADERS } from '../../request/security-headers.ts';
import { RESULT } from '../../turns/turns.fixture.ts';

const PATH = '/v1/chat/completions';
const run: Handler<'turns.run'> = async function* ({ message }) {
  yield { n: 0, type: 'delta', text: message };
  return { ...RESULT, response: message };
};
/** Answers with the received message. */
const handlers: TestGatewayOptions['handlers'] = {
  'turns.complete': ({ message }) => ({ ...RESULT, response: message }),
  'turns.run': run,
};

const createBody = (content: string, stream = false): string =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], stream });

function createRequest(address: string, body: string, ...headers: string[]): string {
  const fields = ['host: localhost', `authorization: Bearer ${SECRETS.rpc}`, 'content-type: application/json', ...headers];
  return [`POST ${address} HTTP/1.1`, ...fields, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}

/** Sends the text unchanged and reads until the connection closes. */
async function sendRaw({ url }: TestGateway, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

/** Removes the parts that differ in each response. */
const normalize = (answer: string): string =>
  answer
    .replaceAll(/chatcmpl-[0-9a-f-]+|"created":\d+|date: [^\r]+|x-request-id: \S+|x-ratelimit-remaining-requests: \d+/gi, '')
    .replaceAll(/\r\n[0-9a-f]+\r\n/g, '\r\n');

test('returns the same response for each spelling of the URL and logs it once', async () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  await using gateway = await startTestGateway({ handlers, log });
  const addresses = [PATH, `${PATH}?x=1`, `http://localhost${PATH}`, '/v1/chat/%63ompletions'];
  for (const stream of [false, true]) {
    for (const body of [createBody('hello', stream), '{']) {
      const answers = [];
      for (const address of addresses) answers.push(normalize(await sendRaw(gateway, createRequest(address, body, 'connection: close'))));
      assert.match(answers[0] ?? '', body === '{' ? /^HTTP\/1\.1 400 .*Invalid JSON body/s : /^HTTP\/1\.1 200 .*hello/s);
      for (const answer of answers) assert.equal(answer, answers[0]);
    }
  }
  const accessLines = lines.filter((line) => line.includes('"msg":"request"') && line.includes(`"route":"${PATH}"`));
  assert.equal(accessLines.length, 4 * addresses.length);
});

test('sends the common headers with every response', async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const body of [createBody('hello'), createBody('hello', true), '{']) {
    const { headers } = await gateway.post(PATH, body, { token: SECRETS.rpc, headers: { 'x-request-id': 'mine.1' } });
    const all = { ...SECURITY_HEADERS, 'cache-control': 'no-store', 'x-request-id': 'mine.1' };
    for (const [name, value] of Object.entries(all)) assert.equal(headers.get(name), value, `${name} after ${body}`);
  }
});

test('returns text of any script unchanged, streamed and not streamed', async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const text of ['plain', 'Grüße', '日本語', '🌊 "quoted" \u2028 \u0000', 'ü'.repeat(40_000)]) {
    const answer = await gateway.post(PATH, createBody(text), { token: SECRETS.rpc });
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
    assert.equal(choices[0]?.message.content, text);
    const chunks = await (await gateway.post(PATH, createBody(text, true), { token: SECRETS.rpc })).text();
    assert.ok(chunks.includes(JSON.stringify({ content: text })), text.slice(0, 10));
  }
});

test('answers pipelined requests in order', async () => {
  await using gateway = await startTestGateway({ handlers });
  const requests = ['first', 'second', 'third'].map((content) => createRequest(PATH, createBody(content)));
  const last = createRequest(PATH, createBody('last'), 'connection: close');
  const answer = await sendRaw(gateway, [...requests, last].join(''));
  assert.deepEqual(
    [...answer.matchAll(/"content":"(\w+)"/g)].map(([, word]) => word),
    ['first', 'second', 'third', 'last'],
  );
});

test('reads a chunked body and rejects another content type', async () => {
  await using gateway = await startTestGateway({ handlers });
  const body = createBody('hello');
  const chunks = body.replaceAll(/[^]{1,7}/g, (part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  const head = createRequest(PATH, '', 'connection: close').replace('content-length: 0', 'transfer-encoding: chunked');
  assert.match(await sendRaw(gateway, `${head}${chunks}0\r\n\r\n`), /"content":"hello"/);
  const { status } = await gateway.post(PATH, body, { token: SECRETS.rpc, headers: { 'content-type': 'text/plain' } });
  assert.equal(status, 415);
});

test('rejects unauthorized requests before reading the body', { timeout: 60_000 }, async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const [secret, status] of [
    [SECRETS.mcp, 403],
    ['nobody-whom-anybody-knows-of-00000000', 401],
  ] as const) {
    const head = createRequest(PATH, '').replace('content-length: 0', 'content-length: 1000').replace(SECRETS.rpc, secret);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(head);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.ok(answer.toString().startsWith(`HTTP/1.1 ${status} `), answer.toString());
    socket.destroy();
  }
});

test('cancels the turn when the client disconnects before the response', { timeout: 60_000 }, async () => {
  const started = Promise.withResolvers<AbortSignal>();
  const complete: Handler<'turns.complete'> = async (_params, { signal }) => {
    started.resolve(signal);
    await once(signal, 'abort');
    return RESULT;
  };
  await using gateway = await startTestGateway({ handlers: { ...handlers, 'turns.complete': complete } });
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(createRequest(PATH, createBody('hello')));
  const signal = await started.promise;
  socket.destroy();
  if (!signal.aborted) await once(signal, 'abort');
});
