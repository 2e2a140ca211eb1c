import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError, type Principal } from '@switchyard/contracts';
import { SECRETS } from '../gateway.fixture.ts';
import { connect, ERAS, SEARCH_RESULT, grant, startMcp, toText } from './mcp.fixture.ts';

const RESULT = { response: 'Hello.', tokensUsed: { input: 1, output: 2, total: 3 }, finishReason: 'stop' as const };

for (const era of ERAS) {
  describe(`a client of ${era}`, () => {
    test('lists the allowed tools without suspended agents', async () => {
      await using gateway = await startMcp();
      await grant(gateway, { allowlist: ['agent_*', 'memory.search', 'nobody_home'] });
      await using client = await connect(gateway, era);
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name, title }) => [name, title]),
        [
          ['agent_default', 'DEFAULT'],
          ['agent_oslo', 'OSLO'],
          ['memory_search', 'memory.search'],
        ],
      );
      assert.deepEqual(tools.at(-1)?.inputSchema.required, ['query']);
      assert.equal(client.getServerVersion()?.name, 'switchyard');
    });

    test('calls a method and gets the result as text and JSON', async () => {
      let received: { query: string; principal: Principal } | undefined;
      await using gateway = await startMcp({
        search: ({ query }, { principal }) => {
          received = { query, principal };
          return SEARCH_RESULT as never;
        },
      });
      await grant(gateway, { allowlist: ['memory_search'] });
      await using client = await connect(gateway, era);
      const result = await client.callTool({ name: 'memory_search', arguments: { query: 'capital' } });
      assert.deepEqual([result.isError, result.structuredContent, JSON.parse(toText(result))], [undefined, SEARCH_RESULT, SEARCH_RESULT]);
      const principal = { tenant: 'default', client: 'mcp', scopes: ['mcp-client'], sessions: 'own' };
      assert.deepEqual(received, { query: 'capital', principal });
    });

    test('calls an agent and gets progress notifications', async () => {
      await using gateway = await startMcp({
        handlers: {
          async *'turns.run'({ turnId, model, message }) {
            yield { type: 'accepted', n: 0, turnId, agentId: model, model: 'dev/echo' };
            yield { type: 'step', n: 1, step: 1 };
            yield { type: 'delta', n: 2, text: message };
            return { ...RESULT, response: `${model}: ${message}` };
          },
        },
      });
      await grant(gateway, { allowlist: ['agent_oslo'] });
      await using client = await connect(gateway, era);
      const progressValues: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void progressValues.push(progress);
      const result = await client.callTool({ name: 'agent_oslo', arguments: { message: 'Hi' } }, { onprogress });
      assert.deepEqual([toText(result), progressValues], ['oslo: Hi', [1, 2]]);
      assert.deepEqual(result.structuredContent, { ...RESULT, response: 'oslo: Hi' });
    });

    test('cancels its turn when it disconnects', { timeout: 60_000 }, async () => {
      const started = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<unknown>();
      await using gateway = await startMcp({
        handlers: {
          // eslint-disable-next-line require-yield
          async *'turns.run'(_, { signal }) {
            started.resolve();
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            ended.resolve(signal.reason);
            throw new ServiceError('CANCELLED', 'The client disconnected.');
          },
        },
      });
      await grant(gateway, { allowlist: ['agent_oslo'] });
      await using client = await connect(gateway, era);
      const disconnect = new AbortController();
      const call = client.callTool({ name: 'agent_oslo', arguments: { message: 'Hi' } }, { signal: disconnect.signal });
      await started.promise;
      disconnect.abort();
      await assert.rejects(call);
      await client.close();
      await ended.promise;
    });

    test('gets a failure as a tool result with the request id', async () => {
      await using gateway = await startMcp({
        search() {
          throw new ServiceError('UNAVAILABLE', 'The index is being built.', { details: { retryAfterMs: 10 } });
        },
      });
      await grant(gateway, { allowlist: ['*'] });
      await using client = await connect(gateway, era);
      const failed = await client.callTool({ name: 'memory_search', arguments: { query: 'x' } });
      assert.deepEqual([failed.isError, toText(failed)], [true, 'The index is being built.']);
      const { requestId, ...rest } = failed.structuredContent as Record<string, unknown>;
      assert.match(String(requestId), /^req_/);
      assert.deepEqual(rest, { code: 'UNAVAILABLE', retryable: true, retryAfterMs: 10 });
      const wrong = await client.callTool({ name: 'memory_search', arguments: { question: 'x' } });
      assert.match(toText(wrong), /^Invalid params: query: expected string, got nothing/);
      const unserved = await client.callTool({ name: 'session_history', arguments: {} });
      assert.equal((unserved.structuredContent as { code: string }).code, 'UNAVAILABLE');
    });

    test('gets "unknown tool" for a tool that is not allowed', async () => {
      await using gateway = await startMcp();
      await using client = await connect(gateway, era);
      assert.deepEqual((await client.listTools()).tools, []);
      assert.match(client.getInstructions() ?? '', /mcpClient\.allowlist/);
      await grant(gateway, { allowlist: ['agent_oslo'] });
      for (const name of ['memory_search', 'agent_default', 'agents_list', 'agent_nobody', 'turns_run']) {
        await assert.rejects(client.callTool({ name }), { code: -32_602, message: new RegExp(`Unknown tool: ${name}`) });
      }
    });

    test('reads only the sessions of its allowlist', async () => {
      const messages = [{ role: 'user' as const, content: 'Hi', timestamp: 1 }];
      await using gateway = await startMcp({
        handlers: {
          'session.history': ({ session_key: key }) => {
            if (key !== 'default:a:b') throw new ServiceError('NOT_FOUND', 'No such session.');
            return { messages };
          },
        },
      });
      await grant(gateway, { sessionAllowlist: ['default:a:b', 'default:gone'] });
      await using client = await connect(gateway, era);
      const { resources } = await client.listResources();
      assert.deepEqual(
        resources.map(({ name }) => name),
        ['default:a:b', 'default:gone'],
      );
      const [{ uri } = { uri: '' }, missing] = resources;
      const { contents } = await client.readResource({ uri });
      assert.deepEqual(JSON.parse((contents[0] as { text: string }).text), { messages });
      for (const otherUri of [missing?.uri ?? '', 'switchyard://sessions/default%3Aother', 'file:///etc/passwd']) {
        await assert.rejects(client.readResource({ uri: otherUri }), { code: -32_602 }, otherUri);
      }
    });
  });
}

test('limits a tool to 30 calls a minute or the rate of the token, over both revisions', async () => {
  await using gateway = await startMcp();
  await grant(gateway, { allowlist: ['memory_search', 'agent_oslo'], toolRateLimit: { 'memory.search': 2 } });
  await gateway.putToken({ id: 'all', secret: SECRETS.all, ver: 2 });
  await using legacy = await connect(gateway, '2025-11-25');
  await using client = await connect(gateway, '2026-07-28');
  const callSearch = (mcpClient = client) => mcpClient.callTool({ name: 'memory_search', arguments: { query: 'x' } });
  assert.deepEqual([(await callSearch()).isError, (await callSearch(legacy)).isError], [undefined, undefined]);
  const refused = await callSearch();
  assert.match(toText(refused), /^memory_search is limited to 2 calls a minute; retry in \d+ s\.$/);
  assert.equal((refused.structuredContent as { code: string }).code, 'RESOURCE_EXHAUSTED');
  await using otherClient = await connect(gateway, '2026-07-28', SECRETS.all);
  const answers = await Promise.all(Array.from({ length: 31 }, () => callSearch(otherClient)));
  assert.equal(answers.filter(({ isError }) => isError === true).length, 1);
});

describe('/mcp', () => {
  const pingMessage = { jsonrpc: '2.0', id: 1, method: 'ping' };

  test('requires scope mcp-client or *', async () => {
    await using gateway = await startMcp();
    const getStatus = async (token?: string) => {
      const headers = { accept: 'application/json, text/event-stream' };
      return (await gateway.post('/mcp', JSON.stringify(pingMessage), { headers, ...(token === undefined ? {} : { token }) })).status;
    };
    assert.deepEqual(
      [
        await getStatus(SECRETS.mcp),
        await getStatus(SECRETS.all),
        await getStatus(SECRETS.rpc),
        await getStatus(SECRETS.admin),
        await getStatus(),
      ],
      [200, 200, 403, 403, 401],
    );
  });

  test('returns 405 for GET and DELETE', async () => {
    await using gateway = await startMcp();
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(`${gateway.url}/mcp`, { method, headers: { authorization: `Bearer ${SECRETS.mcp}` } });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'], method);
    }
  });

  test('refuses invalid messages with JSON-RPC errors', async () => {
    await using gateway = await startMcp();
    const deep = `${'['.repeat(70)}${']'.repeat(70)}`;
    for (const [body, number] of [
      ['{', -32_700],
      ['', -32_700],
      ['[]', -32_600],
      [JSON.stringify([pingMessage]), -32_600],
      [JSON.stringify([pingMessage, pingMessage]), -32_600],
      ['{"jsonrpc":"2.0","id":1,"result":{}}', -32_600],
      [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":${deep}}}}`, -32_600],
    ] as const) {
      const response = await gateway.post('/mcp', body, { token: SECRETS.mcp });
      const { error } = (await response.json()) as { error: { code: number } };
      assert.deepEqual([response.status, error.code], [400, number], body);
    }
  });

  test('answers params that do not match the specification with -32602', async () => {
    await using gateway = await startMcp();
    const headers = { accept: 'application/json, text/event-stream' };
    const clientInfo = { name: 'test', version: '1' };
    const request = async (method: string, params: object | undefined) => {
      const response = await gateway.post('/mcp', JSON.stringify({ jsonrpc: '2.0', id: 'a', method, params }), {
        token: SECRETS.mcp,
        headers,
      });
      const [json = ''] = /\{.*\}/.exec(await response.text()) ?? [];
      return {
        status: response.status,
        ...(JSON.parse(json) as { id: string; error?: { code: number; message: string }; result?: object }),
      };
    };
    for (const [method, params, field] of [
      ['initialize', undefined, 'params'],
      ['initialize', { capabilities: {}, clientInfo }, 'params.protocolVersion'],
      ['initialize', { protocolVersion: 7, capabilities: {}, clientInfo }, 'params.protocolVersion'],
      ['initialize', { protocolVersion: '2025-11-25', clientInfo }, 'params.capabilities'],
      ['resources/read', {}, 'params.uri'],
      ['tools/call', {}, 'params.name'],
    ] as const) {
      const { status, id, error } = await request(method, params);
      assert.deepEqual([status, id, error?.code], [200, 'a', -32_602], `${method}: ${error?.message}`);
      assert.ok(error?.message.includes(field.replace(/^params\./, '')), error?.message);
    }
    const unknownVersion = await request('initialize', { protocolVersion: '1999-01-01', capabilities: {}, clientInfo });
    assert.deepEqual(
      unknownVersion.result && 'protocolVersion' in unknownVersion.result && unknownVersion.result.protocolVersion,
      '2025-11-25',
    );
  });

  test('refuses foreign origins and hosts', async () => {
    await using gateway = await startMcp();
    const headers = { origin: 'https://evil.example' };
    assert.equal((await gateway.post('/mcp', JSON.stringify(pingMessage), { token: SECRETS.mcp, headers })).status, 403);
  });

  test('does not hold a subscription open', async () => {
    await using gateway = await startMcp();
    await using client = await connect(gateway, '2026-07-28');
    await assert.rejects(client.listen({ toolsListChanged: true }));
  });
});
