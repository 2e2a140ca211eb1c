import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { SECRETS, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../gateway.fixture.ts';

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Node spells the names of its own headers with capitals. */
  byNode: boolean;
}

/** A connection that sends bytes as they are. */
interface Raw {
  socket: Socket;
  send(bytes: string): void;
  next(): Promise<Reply>;
}

async function start(t: TestContext, options?: TestGatewayOptions): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  t.after(() => gateway[Symbol.asyncDispose]());
  return gateway;
}

function open(t: TestContext, { url }: TestGateway): Raw {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true });
  t.after(() => socket.destroy());
  let came = '';
  socket.on('data', (data) => (came += data.toString('latin1')));
  return {
    socket,
    send: (bytes) => void socket.write(bytes, 'latin1'),
    async next() {
      for (;;) {
        const reply = readReply(came);
        if (reply) {
          came = came.slice(reply.length);
          return reply;
        }
        await once(socket, 'data');
      }
    },
  };
}

function readReply(text: string): (Reply & { length: number }) | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...fields] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return undefined;
  return {
    status: Number(first.split(' ')[1]),
    headers,
    body: text.slice(end + 4, length),
    byNode: fields.some((field) => field.startsWith('Date:')),
    length,
  };
}

const PING = '{"jsonrpc":"2.0","id":1,"method":"system.ping"}';

interface Sent {
  line?: string;
  token?: string;
  type?: string;
  more?: string[];
  body?: string;
}

function post(
  { url }: TestGateway,
  { line = 'POST /rpc HTTP/1.1', token = SECRETS.all, type = 'application/json', more = [], body = PING }: Sent = {},
): string {
  const fields = [`host: ${new URL(url).host}`, `content-type: ${type}`, `content-length: ${body.length}`, ...more];
  if (token !== '') fields.push(`authorization: Bearer ${token}`);
  return [line, ...fields, '', body].join('\r\n');
}

/** After this a connection is Node's. */
function health({ url }: TestGateway): string {
  return `GET /health HTTP/1.1\r\nhost: ${new URL(url).host}\r\n\r\n`;
}

const PLAIN: Record<string, Sent> = {
  'a call': {},
  'a call of what is not there': { body: '{"jsonrpc":"2.0","id":1,"method":"no.such"}' },
  'a notification': { body: '{"jsonrpc":"2.0","method":"system.ping"}' },
  'a batch': { body: `[${PING},${PING}]` },
  'what is no JSON': { body: '{' },
  nothing: { body: '' },
  'a token that nobody has': { token: 'x'.repeat(40) },
  'no token': { token: '' },
  'another type': { type: 'text/plain' },
  'a body beyond the limit': { body: `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(3_000)}"}` },
  'a page from elsewhere': { more: ['origin: https://elsewhere.example'] },
  'a request with its own id': { more: ['x-request-id: mine-1'] },
};

for (const [what, sent] of Object.entries(PLAIN))
  test(`${what} is answered as Node's own reader would have it, without it`, async (t) => {
    const gateway = await start(t, { settings: { httpBodyLimitBytes: 2_000 } });
    const [fast, slow] = [open(t, gateway), open(t, gateway)];
    slow.send(health(gateway));
    assert.equal((await slow.next()).status, 200);
    fast.send(post(gateway, sent));
    slow.send(post(gateway, sent));
    const [ours, nodes] = [await fast.next(), await slow.next()];
    assert.deepEqual([ours.byNode, nodes.byNode], [false, true]);
    assert.deepEqual(told(ours), told(nodes));
  });

/** Without what differs from one answer to the next, and without what Node says of its bounds. */
function told({ status, headers, body }: Reply): unknown {
  const { date, 'keep-alive': _keep, connection, 'x-request-id': id = '', ...rest } = headers;
  const own = id.startsWith('mine') ? id : 'ours';
  return {
    status,
    date: date?.length,
    connection: status === 413 ? '' : connection,
    id: own,
    rest,
    body: body.replaceAll(id, own).replace(/\d{13}/g, 'now'),
  };
}

const NODES: Record<string, (gateway: TestGateway) => string> = {
  'another path': (gateway) => post(gateway, { line: 'POST /rpc?x=1 HTTP/1.1' }),
  'a path that begins alike': (gateway) => post(gateway, { line: 'POST /rpcx HTTP/1.1' }),
  'an older version': (gateway) => post(gateway, { line: 'POST /rpc HTTP/1.0' }),
  'two lengths': (gateway) => post(gateway, { more: [`content-length: ${PING.length}`] }),
  'a length and chunks': (gateway) => post(gateway, { more: ['transfer-encoding: chunked'] }),
  'a long head': (gateway) => post(gateway, { more: [`x-long: ${'x'.repeat(2_048)}`] }),
  'a last request': (gateway) => post(gateway, { more: ['connection: close'] }),
  'two requests in one piece': (gateway) => post(gateway).repeat(2),
};

for (const [what, bytesOf] of Object.entries(NODES))
  test(`${what} is left to Node`, async (t) => {
    const gateway = await start(t);
    const raw = open(t, gateway);
    raw.send(bytesOf(gateway));
    const { status, headers, byNode } = await raw.next();
    // What was broken from the start is answered beside Node's own answers, and ends the connection.
    assert.ok(byNode || (status === 400 && headers['connection'] === 'close'), `${status}`);
  });

test('a connection that was plain is read by Node from the first request on that is not, and none is lost', async (t) => {
  const gateway = await start(t);
  const raw = open(t, gateway);
  const replies: boolean[] = [];
  for (const bytes of [post(gateway), post(gateway), health(gateway), post(gateway)]) {
    raw.send(bytes);
    const { status, byNode } = await raw.next();
    assert.equal(status, 200);
    replies.push(byNode);
  }
  assert.deepEqual(replies, [false, false, true, true]);
});

test('what comes while an answer is under way is answered after it, in its order', async (t) => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const status = async (): Promise<never> => {
    asked.resolve();
    await held.promise;
    throw new Error('late');
  };
  const gateway = await start(t, { handlers: { 'session.status': status } });
  const raw = open(t, gateway);
  raw.send(post(gateway, { body: '{"jsonrpc":"2.0","id":"first","method":"session.status"}' }));
  await asked.promise;
  const beside = open(t, gateway);
  for (const bytes of [post(gateway, { body: '{"jsonrpc":"2.0","id":"second","method":"system.ping"}' }), health(gateway)]) {
    raw.send(bytes);
    // What was sent before it has come when it is answered.
    beside.send(post(gateway));
    await beside.next();
  }
  held.resolve();
  const [first, second, third] = [await raw.next(), await raw.next(), await raw.next()];
  assert.match(first.body, /"id":"first"/);
  assert.match(second.body, /"id":"second"/);
  assert.match(third.body, /"status"/);
});

test('a gateway that drains says with each answer that it is the last, and ends the connections that wait', async (t) => {
  const gateway = await start(t);
  const [waiting, asking] = [open(t, gateway), open(t, gateway)];
  for (const raw of [waiting, asking]) {
    raw.send(post(gateway));
    assert.equal((await raw.next()).headers['connection'], 'keep-alive');
  }
  const ends = [waiting, asking].map(({ socket }) => once(socket, 'close'));
  const closed = gateway.gateway.close({ delayMs: 100 });
  asking.send(post(gateway));
  const { status, headers } = await asking.next();
  assert.deepEqual([status, headers['connection']], [200, 'close']);
  await Promise.all([...ends, closed]);
});
