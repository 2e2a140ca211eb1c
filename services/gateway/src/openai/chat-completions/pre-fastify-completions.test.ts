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

const bodyOf = (content: string, stream = false): string => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], stream });

function asked(address: string, body: string, ...headers: string[]): string {
  const fields = ['host: localhost', `authorization: Bearer ${SECRETS.rpc}`, 'content-type: application/json', ...headers];
  return [`POST ${address} HTTP/1.1`, ...fields, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}

/** Sends text as it is and reads until the other side ends it. */
async function speak({ url }: TestGateway, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let answer = '';
  socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

/** An answer without what is another in each. */
const same = (answer: string): string =>
  answer
    .replaceAll(/chatcmpl-[0-9a-f-]+|"created":\d+|date: [^\r]+|x-request-id: \S+|x-ratelimit-remaining-requests: \d+/gi, '')
    .replaceAll(/\r\n[0-9a-f]+\r\n/g, '\r\n');

test('however the address is spelled, the answer is the same, and counted once', async () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line: string) => void lines.push(line) } });
  await using gateway = await startTestGateway({ handlers, log });
  const addresses = [PATH, `${PATH}?x=1`, `http://localhost${PATH}`, '/v1/chat/%63ompletions'];
  for (const stream of [false, true]) {
    for (const body of [bodyOf('hello', stream), '{']) {
      const answers = [];
      for (const address of addresses) answers.push(same(await speak(gateway, asked(address, body, 'connection: close'))));
      assert.match(answers[0] ?? '', body === '{' ? /^HTTP\/1\.1 400 .*Invalid JSON body/s : /^HTTP\/1\.1 200 .*hello/s);
      for (const answer of answers) assert.equal(answer, answers[0]);
    }
  }
  const noted = lines.filter((line) => line.includes('"msg":"request"') && line.includes(`"route":"${PATH}"`));
  assert.equal(noted.length, 4 * addresses.length);
});

test('every answer has the headers that all have', async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const body of [bodyOf('hello'), bodyOf('hello', true), '{']) {
    const { headers } = await gateway.post(PATH, body, { token: SECRETS.rpc, headers: { 'x-request-id': 'mine.1' } });
    const all = { ...SECURITY_HEADERS, 'cache-control': 'no-store', 'x-request-id': 'mine.1' };
    for (const [name, value] of Object.entries(all)) assert.equal(headers.get(name), value, `${name} after ${body}`);
  }
});

test('text of every script comes whole, in one piece and in several', async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const said of ['plain', 'Grüße', '日本語', '🌊 "quoted" \u2028 \u0000', 'ü'.repeat(40_000)]) {
    const answer = await gateway.post(PATH, bodyOf(said), { token: SECRETS.rpc });
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
    assert.equal(choices[0]?.message.content, said);
    const chunks = await (await gateway.post(PATH, bodyOf(said, true), { token: SECRETS.rpc })).text();
    assert.ok(chunks.includes(JSON.stringify({ content: said })), said.slice(0, 10));
  }
});

test('requests that come in one write are answered in their order', async () => {
  await using gateway = await startTestGateway({ handlers });
  const many = ['first', 'second', 'third'].map((content) => asked(PATH, bodyOf(content)));
  const last = asked(PATH, bodyOf('last'), 'connection: close');
  const answer = await speak(gateway, [...many, last].join(''));
  assert.deepEqual(
    [...answer.matchAll(/"content":"(\w+)"/g)].map(([, word]) => word),
    ['first', 'second', 'third', 'last'],
  );
});

test('a body in chunks is read whole; one that is no JSON by its type is not read', async () => {
  await using gateway = await startTestGateway({ handlers });
  const body = bodyOf('hello');
  const chunks = body.replaceAll(/[^]{1,7}/g, (part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  const head = asked(PATH, '', 'connection: close').replace('content-length: 0', 'transfer-encoding: chunked');
  assert.match(await speak(gateway, `${head}${chunks}0\r\n\r\n`), /"content":"hello"/);
  const { status } = await gateway.post(PATH, body, { token: SECRETS.rpc, headers: { 'content-type': 'text/plain' } });
  assert.equal(status, 415);
});

test('rejects unauthorized requests before reading the body', { timeout: 10_000 }, async () => {
  await using gateway = await startTestGateway({ handlers });
  for (const [secret, status] of [
    [SECRETS.mcp, 403],
    ['nobody-whom-anybody-knows-of-00000000', 401],
  ] as const) {
    const head = asked(PATH, '').replace('content-length: 0', 'content-length: 1000').replace(SECRETS.rpc, secret);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(head);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.ok(answer.toString().startsWith(`HTTP/1.1 ${status} `), answer.toString());
    socket.destroy();
  }
});

test('cancels the turn when the client leaves before the answer', { timeout: 10_000 }, async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const complete: Handler<'turns.complete'> = async (_params, { signal }) => {
    begun.resolve(signal);
    await once(signal, 'abort');
    return RESULT;
  };
  await using gateway = await startTestGateway({ handlers: { ...handlers, 'turns.complete': complete } });
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(asked(PATH, bodyOf('hello')));
  const signal = await begun.promise;
  socket.destroy();
  if (!signal.aborted) await once(signal, 'abort');
});
