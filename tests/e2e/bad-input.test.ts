import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rest } from './clients.ts';
import { post, type Running } from './embedded.ts';
import {
  sendRequest,
  call,
  many,
  mint,
  one,
  openExchange,
  openSocket,
  request,
  TRANSPORTS,
  type Answer,
  type Exchange,
  type Transport,
} from './exchange.ts';
import { onEachProfile } from './profiles.ts';

const CAP = 50;
const PING = request('system.ping', {}, 'alive');
const history = (id: unknown, channelId = 'nobody'): string => request('session.history', { channelId }, id);
const EMPTY = { messages: [] };
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const params = (text: string, method = 'session.history'): string => `{"jsonrpc":"2.0","method":"${method}","params":${text},"id":1}`;

/** The examples of the JSON-RPC 2.0 specification with our methods: the message, and the expected answer per id. */
const SPECIFICATION: readonly (readonly [name: string, message: string, expected: unknown])[] = [
  ['positional parameters', params('[42,23]'), [1, -32602]],
  ['named parameters', history(3), [3, EMPTY]],
  ['a notification', '{"jsonrpc":"2.0","method":"session.history","params":{"channelId":"x"}}', undefined],
  ['a notification of what does not exist', '{"jsonrpc":"2.0","method":"foobar"}', undefined],
  ['a method that does not exist', '{"jsonrpc":"2.0","method":"foobar","id":"1"}', ['1', -32601]],
  ['invalid JSON', '{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]', [null, -32700]],
  ['an invalid request object', '{"jsonrpc":"2.0","method":1,"params":"bar"}', [null, -32600]],
  ['a batch of invalid JSON', '[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"]', [null, -32700]],
  ['an empty array', '[]', [null, -32600]],
  ['an invalid batch, but not empty', '[1]', [[null, -32600]]],
  ['an invalid batch', '[1,2,3]', Array.from({ length: 3 }, () => [null, -32600])],
  [
    'a batch of everything',
    `[${history('1')},{"jsonrpc":"2.0","method":"session.history","params":{}},${history('2')},{"foo":"boo"},{"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"},${history('9')}]`,
    [
      ['1', EMPTY],
      ['2', EMPTY],
      [null, -32600],
      ['5', -32601],
      ['9', EMPTY],
    ],
  ],
  ['a batch of notifications', '[{"jsonrpc":"2.0","method":"session.history"},{"jsonrpc":"2.0","method":"system.ping"}]', undefined],
];

const BAD: readonly (readonly [name: string, message: string, expected: unknown])[] = [
  ['nothing', '', [null, -32700]],
  ['half a message', '{"jsonrpc":', [null, -32700]],
  ['a scalar', '42', [null, -32600]],
  ['null', 'null', [null, -32600]],
  ['another version', '{"jsonrpc":"1.0","method":"system.ping","id":1}', [1, -32600]],
  ['no version', '{"method":"system.ping","id":1}', [1, -32600]],
  ['no method', '{"jsonrpc":"2.0","id":1}', [1, -32600]],
  [
    'a batch over the cap',
    `[${Array(CAP + 1)
      .fill(PING)
      .join(',')}]`,
    [null, -32600],
  ],
  ['a batch at the cap', `[${Array(CAP).fill(history(7)).join(',')}]`, Array.from({ length: CAP }, () => [7, EMPTY])],
  ['arrays nested 100,000 deep', nested(100_000), [[null, -32600]]],
  ['100,000 open brackets', '['.repeat(100_000), [null, -32700]],
  ['params nested 100,000 deep', params(`{"channelId":${nested(100_000)}}`), [1, -32600]],
  ['objects nested 10,000 deep', params('{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)), [1, -32600]],
  [
    'ids that repeat',
    `[${history(1)},${history(1)},${history('1')}]`,
    [
      [1, EMPTY],
      [1, EMPTY],
      ['1', EMPTY],
    ],
  ],
  ['an id that is an object', '{"jsonrpc":"2.0","method":"system.ping","id":{}}', [null, -32600]],
  ['an id that is an array', '{"jsonrpc":"2.0","method":"system.ping","id":[1]}', [null, -32600]],
  ['an id that is a truth', '{"jsonrpc":"2.0","method":"system.ping","id":true}', [null, -32600]],
  ['an id that is null, which is answered', history(null), [null, EMPTY]],
  ['an id that is a fraction, which is echoed', history(1.5), [1.5, EMPTY]],
  ['an unknown method', request('session.histories'), [1, -32601]],
  ['a private operation', request('turns.start'), [1, -32601]],
  ['a name that every object has', request('constructor'), [1, -32601]],
  ['a method called __proto__', request('__proto__'), [1, -32601]],
  ['missing params', request('session.send', { key: 'x' }), [1, -32602]],
  ['no params where some are needed', '{"jsonrpc":"2.0","method":"agent.execute","id":1}', [1, -32602]],
  ['extra params', request('session.history', { colour: 'red' }), [1, -32602]],
  ['extra params for a ping', request('system.ping', { colour: 'red' }), [1, -32602]],
  ['params of the wrong type', request('session.history', { channelId: 5 }), [1, -32602]],
  ['null for a text', request('agent.execute', { message: null }), [1, -32602]],
  ['params that are text', params('"text"'), [1, -32602]],
  ['params that are null', params('null'), [1, -32602]],
  ['an unknown agent', request('agent.execute', { message: 'x', agentId: 'nobody' }), [1, -32602]],
  ['an agent that is no id', request('agent.execute', { message: 'x', agentId: '../default' }), [1, -32602]],
  ['__proto__ among the params', params('{"__proto__":{"channelId":"theirs"}}'), [1, -32602]],
  ['__proto__ for a ping', params('{"__proto__":{"admin":true}}', 'system.ping'), [1, -32602]],
  ['__proto__ further in', params('{"message":"x","sessionKey":{"__proto__":{"channelId":"theirs"}}}', 'agent.execute'), [1, -32602]],
  ['a constructor', params('{"constructor":{"prototype":{"channelId":"theirs"}}}'), [1, -32602]],
];

onEachProfile(
  'bad input',
  (product) => {
    for (const transport of TRANSPORTS) {
      test(`every example of JSON-RPC 2.0, over ${transport}`, (t) => eachIsAnswered(t, SPECIFICATION, { transport, product }));
      test(`every kind of bad message, over ${transport}`, (t) => eachIsAnswered(t, BAD, { transport, product }));

      test(`insufficient scope, in the words of the interface, over ${transport}`, async () => {
        for (const [held, method, wanted] of [
          ['rpc', 'session.list', 'admin'],
          ['admin', 'session.history', 'rpc'],
          ['api', 'system.ping', 'rpc'],
          ['mcp-client', 'system.ping', 'rpc'],
        ] as const) {
          const { secret } = await mint(product, held);
          await using client = await openExchange(transport, product, secret);
          const { error } = one(await client.say(request(method)));
          assert.deepEqual([error?.code, error?.message], [-32603, `Insufficient scope: requires '${wanted}'`]);
          assert.equal(one(await client.say(request('nobody.home'))).error?.code, -32601, 'what exists comes first');
        }
      });

      test(`a duplicate JSON key grants nothing, over ${transport}`, async () => {
        const { secret } = await mint(product, 'rpc');
        await using client = await openExchange(transport, product, secret);
        const { error, id } = one(await client.say('{"jsonrpc":"2.0","method":"system.ping","id":1,"method":"session.list","id":2}'));
        assert.deepEqual([error?.message, id], ["Insufficient scope: requires 'admin'", 2]);
      });

      test(`rejects a batch above maxBatchSize and names both sizes, over ${transport}`, async () => {
        await using client = await openExchange(transport, product);
        const { error } = one(
          await client.say(
            `[${Array(CAP + 1)
              .fill(PING)
              .join(',')}]`,
          ),
        );
        assert.match(error?.message ?? '', /\b51\b.*\b50\b/);
      });
    }

    test('input does not change prototypes', async () => {
      const { secret } = await mint(product, 'rpc');
      await using client = await openExchange('http', product);
      for (const poison of [
        '{"__proto__":{"admin":true,"scopes":["*"],"userId":"them","maxSteps":1}}',
        '{"constructor":{"prototype":{"scopes":["*"]}}}',
      ]) {
        for (const method of ['session.history', 'agent.execute', 'tokens.create', 'agents.create', 'agents.update', 'system.ping']) {
          assert.equal(one(await client.say(params(poison, method))).error?.code, -32602, method);
          const body = poison.replace('{', `{"name":"poisoned","agentId":"poisoned","message":"x","sessionKey":${poison},`);
          assert.equal(one(await client.say(params(body, method))).error?.code, -32602, method);
        }
      }
      assert.equal((await sendRequest(product, 'session.list', {}, secret)).error?.message, "Insufficient scope: requires 'admin'");
      const { sessionKey } = await call<{ sessionKey: string }>(product, 'agent.execute', { message: 'hello' });
      assert.equal(sessionKey, `${product.tenant}:${product.client}:gateway`);
      assert.deepEqual((await call<{ agents: string[] }>(product, 'agents.list')).agents, ['default']);
      const fresh = await call<{ config: { maxSteps: number } }>(product, 'agents.create', { name: 'fresh' });
      assert.equal(fresh.config.maxSteps, 150);
      await call(product, 'agents.delete', { agentId: 'fresh' });
    });

    test('a message of 2 MB is 413 over HTTP, in the error form of each surface', async () => {
      const big = history(1, 'x'.repeat(2 * 1024 * 1024));
      assert.deepEqual(await post(product, big), { status: 413, text: '{"error":"Request body too large"}' });
      assert.partialDeepStrictEqual(await rest(product, '/api/chat', { message: big }), {
        status: 413,
        body: { error: 'Request body too large', status: 413 },
      });
      const { status, body } = await rest(product, '/v1/chat/completions', {
        model: 'dev/echo',
        messages: [{ role: 'user', content: big }],
      });
      assert.deepEqual([status, (body['error'] as { type: string }).type], [413, 'server_error']);
      await isAlive(product);
    });

    test('rejects a message of 2 MB over /ws with both sizes, and keeps the connection', async () => {
      await using client = await openExchange('ws', product);
      const big = history(1, 'x'.repeat(2 * 1024 * 1024));
      const { error, id } = one(await client.say(big));
      assert.deepEqual([error?.code, id], [-32600, null]);
      assert.match(error?.message ?? '', new RegExp(`\\b${big.length}\\b.*\\b1048576\\b`));
      assert.equal(one(await client.say(PING)).id, 'alive');
    });

    test('a binary frame is a parse error, and the connection stays open', async () => {
      await using socket = await openSocket(product, product.token);
      socket.send(Buffer.from(PING));
      const { error, id } = JSON.parse(await socket.next()) as Answer;
      assert.deepEqual([error?.code, error?.message, id], [-32700, 'Binary messages not supported', null]);
      socket.raw.send(PING);
      assert.equal((JSON.parse(await socket.next()) as Answer).id, 'alive');
    });

    test('a content type that is not JSON is 415', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'application/json; charset=utf-16']) {
        assert.deepEqual(await post(product, PING, { 'content-type': type }), {
          status: 415,
          text: '{"error":"Content-Type must be application/json"}',
        });
      }
      assert.equal((await post(product, PING, { 'content-type': 'application/json; charset=utf-8' })).status, 200);
    });

    test('401 in the form of each surface; a WebSocket is accepted and closed with 4001', async () => {
      for (const authorization of ['', 'Bearer', 'Bearer nobody', `Basic ${product.token}`, `Bearer ${product.token}x`]) {
        await isRefused(product, authorization);
      }
      await using socket = await openSocket(product, 'nobody');
      assert.deepEqual(await socket.closed, { code: 4001, reason: 'Unauthorized' });
    });

    test('a revoked token is 401 at once, and its WebSocket closes at the next message at the latest', async () => {
      const { id, secret } = await mint(product, 'rpc');
      await using socket = await openSocket(product, secret);
      socket.send(PING);
      assert.equal((JSON.parse(await socket.next()) as Answer).id, 'alive');
      assert.deepEqual(await call(product, 'tokens.revoke', { id }), { id, revoked: true });
      await isRefused(product, `Bearer ${secret}`);
      // Idle WebSockets are checked once a second.
      socket.send(PING);
      await assert.rejects(socket.next(), /closed with 4001 Unauthorized/, 'the message is not answered');
      await isAlive(product);
    });
  },
  { shareCluster: true },
);

interface Where {
  transport: Transport;
  product: Running;
}

/** Sends all messages over one connection. No message may break the connection or the product. */
async function eachIsAnswered(t: { diagnostic(message: string): void }, table: typeof BAD, { transport, product }: Where): Promise<void> {
  await using client = await openExchange(transport, product);
  for (const [name, message, expected] of table) {
    try {
      if (expected === undefined) await client.tell(message);
      else assert.deepEqual(brief(await client.say(message)), expected);
      await answersPing(client);
    } catch (error) {
      t.diagnostic(`${name}, over ${transport}`);
      throw error;
    }
  }
}

function brief(said: Answer | Answer[]): unknown {
  const of = ({ id, result, error }: Answer): unknown => [id, error?.code ?? result];
  return Array.isArray(said) ? many(said).map(of) : of(said);
}

async function answersPing(client: Exchange): Promise<void> {
  const { id, result } = one(await client.say(PING));
  assert.equal(id, 'alive');
  assert.equal((result as { pong: boolean }).pong, true);
}

async function isAlive(product: Running): Promise<void> {
  await answersPing(await openExchange('http', product));
}

async function isRefused(product: Running, authorization: string): Promise<void> {
  const { status, text } = await post(product, PING, { authorization });
  const { error, id } = JSON.parse(text) as Answer;
  assert.deepEqual([status, error?.code, error?.message, id], [401, -32603, 'Unauthorized', null]);
  for (const [path, body] of [
    ['/api/chat/history', { error: 'Unauthorized', status: 401, code: 'UNAUTHENTICATED' }],
    ['/v1/models', { error: { message: 'Unauthorized', type: 'authentication_error', param: null, code: null } }],
  ] as const) {
    const response = await fetch(product.url + path, { headers: { authorization } });
    assert.equal(response.status, 401, path);
    assert.partialDeepStrictEqual(await response.json(), body, path);
  }
}
