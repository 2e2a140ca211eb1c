import assert from 'node:assert/strict';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand, sendEvent, startCommand, startServer, TOKEN, type Behaviour, type Call } from '../command.fixture.ts';

const cwd = tmpdir();
const RESULT = { response: 'You said hi', tokensUsed: { input: 2, output: 3, total: 5 }, finishReason: 'stop' };

/** Sends tokens, then the final event. */
function telling(words: string[], end: [event: string, data: unknown] = ['done', RESULT], seen?: URLSearchParams[]): Behaviour {
  return {
    chat(query, response) {
      seen?.push(query);
      words.forEach((delta, at) => sendEvent(response, `turn_1:${at}`, 'token', { delta, accumulated: words.slice(0, at + 1).join('') }));
      sendEvent(response, `turn_1:${words.length}`, ...end);
      response.end();
    },
  };
}

const sendRequest = (url: string, args: string[], input?: string) =>
  runCommand(['ask', '--url', url, ...args], { cwd, env: { SWITCHYARD_TOKEN: TOKEN }, ...(input === undefined ? {} : { input }) });

test('prints the response on standard output and facts on standard error', async () => {
  const seen: URLSearchParams[] = [];
  await using server = await startServer(telling(['You ', 'said ', 'hi'], undefined, seen));
  const { code, stdout, stderr } = await sendRequest(server.url, ['--agent', 'helper', '--session', 'notes', 'hello', 'there & then?']);
  assert.deepEqual([code, stdout], [0, 'You said hi\n']);
  assert.match(stderr, /^ {2}session notes · 2 in \/ 3 out · stop · first token \d+ ms · turn_1\n$/);
  assert.deepEqual(Object.fromEntries(seen[0] ?? []), { message: 'hello there & then?', agentId: 'helper', sessionKey: 'notes' });
});

test('prints each token immediately', async () => {
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  await using server = await startServer({
    chat(_, response) {
      sendEvent(response, 'turn_1:0', 'token', { delta: 'first', accumulated: 'first' });
      void finished.then(() => {
        sendEvent(response, 'turn_1:1', 'done', { ...RESULT, response: 'first, and last' });
        response.end();
      });
    },
  });
  const child = startCommand(['ask', 'hi', '--url', server.url, '--token', TOKEN], { cwd });
  child.stdin.end();
  child.stdout.setEncoding('utf8');
  assert.deepEqual(await once(child.stdout, 'data'), ['first'], 'before the turn has ended');
  finish();
  assert.deepEqual(await once(child.stdout, 'data'), [', and last\n'], 'what was not streamed comes with the end');
  assert.deepEqual(await once(child, 'close'), [0, null]);
});

test('prints the response again on a resumed event', async () => {
  for (const [accumulated, printed] of [
    ['You said ', 'You said hi\n'],
    ['', 'You \nYou said hi\n'],
  ] as const) {
    await using server = await startServer({
      chat(_, response) {
        sendEvent(response, 'turn_1:0', 'token', { delta: 'You ', accumulated: 'You ' });
        sendEvent(response, 'turn_1:1', 'resumed', { accumulated });
        sendEvent(response, 'turn_1:2', 'done', RESULT);
        response.end();
      },
    });
    assert.equal((await sendRequest(server.url, ['hi'])).stdout, printed);
  }
});

test('prints one object with --output json', async () => {
  await using server = await startServer(telling(['You said hi'], ['done', { ...RESULT, turnId: 'turn_1' }]));
  const { code, stdout, stderr } = await sendRequest(server.url, ['hi', '-o', 'json']);
  assert.deepEqual([code, stderr], [0, '']);
  const { firstTokenMs, ...answer } = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual(answer, { ...RESULT, turnId: 'turn_1' });
  assert.equal(typeof firstTokenMs, 'number');
});

test('reads the message from standard input with -', async () => {
  const seen: URLSearchParams[] = [];
  await using server = await startServer(telling(['x'], undefined, seen));
  assert.equal((await sendRequest(server.url, ['-'], 'two\nlines\n')).code, 0);
  assert.equal(seen[0]?.get('message'), 'two\nlines');
  const empty = await sendRequest(server.url, ['-'], '\n');
  assert.deepEqual([empty.code, seen.length], [2, 1]);
  assert.match(empty.stderr, /contains no message/);
});

test('sends a message above the URL limit by an RPC call', async () => {
  const calls: Call[] = [];
  await using server = await startServer({ call: (call) => (calls.push(call), RESULT) });
  const message = 'long '.repeat(4_000).trimEnd();
  const { code, stdout } = await sendRequest(server.url, ['-', '--session', 'notes'], message);
  assert.deepEqual([code, stdout], [0, 'You said hi\n']);
  await sendRequest(server.url, ['-', '--session', 'default:alice:web', '--agent', 'a'], message);
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params]),
    [
      ['agent.execute', { message, sessionKey: { channelId: 'notes' } }],
      ['session.send', { key: 'default:alice:web', message, agentId: 'a' }],
    ],
  );
});

test('exits with 1 and keeps the printed text when the turn fails', async () => {
  const failure = {
    error: 'The model is overloaded',
    data: { code: 'UNAVAILABLE', reason: 'STREAM_CUT', requestId: 'req_9', turnId: 'turn_1', retryable: true },
  };
  await using server = await startServer(telling(['You '], ['error', failure]));
  const { code, stdout, stderr } = await sendRequest(server.url, ['hi']);
  assert.deepEqual([code, stdout], [1, 'You \n']);
  assert.match(
    stderr,
    /^error: The model is overloaded\.\n {2}UNAVAILABLE · STREAM_CUT · request req_9 · turn turn_1\n {2}next: .*switchyard status\n$/,
  );
  const json = await sendRequest(server.url, ['hi', '-o', 'json']);
  assert.deepEqual([json.code, json.stdout], [1, '']);
  assert.equal((JSON.parse(json.stderr) as { error: { turnId: string } }).error.turnId, 'turn_1');
});

test('exits with 130 on Ctrl-C while the turn continues', async () => {
  await using server = await startServer({
    chat: (_, response) => sendEvent(response, 'turn_1:0', 'token', { delta: 'so far', accumulated: 'so far' }),
  });
  const child = startCommand(['ask', 'hi', '--session', 'notes', '--url', server.url, '--token', TOKEN], { cwd });
  child.stdin.end();
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (told += part));
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [130, null]);
  assert.match(told, /The turn continues; .*switchyard rpc session\.history channelId=notes/);
});

test('exits silently when the output is closed', async () => {
  await using server = await startServer({
    chat(_, response) {
      const more = setInterval(() => sendEvent(response, 'turn_1:0', 'token', { delta: 'word ', accumulated: '' }), 5);
      response.on('close', () => clearInterval(more));
    },
  });
  const child = startCommand(['ask', 'hi', '--url', server.url, '--token', TOKEN], { cwd });
  child.stdin.end();
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (told += part));
  await once(child.stdout, 'data');
  child.stdout.destroy();
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.equal(told, '');
});
