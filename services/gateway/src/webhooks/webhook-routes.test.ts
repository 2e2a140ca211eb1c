import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { sign } from '@octokit/webhooks-methods';
import type { Handler } from '@switchyard/bus';
import { scheduler, secrets, SECRETS_BUCKET, ServiceError } from '@switchyard/contracts';
import { encryptSecret } from '@switchyard/service-kit';
import { Webhook } from 'standardwebhooks';
import type { WebhooksInput } from '../gateway.fixture.ts';
import { startTestTurns, type TestTurns } from '../turns/turns.fixture.ts';

const TOKEN = 'a token of webhooks with 40 characters..';
const signed = (body: string, key = TOKEN) => ({ 'x-webhook-signature': createHmac('sha256', key).update(body).digest('hex') });

type Started = TestTurns & AsyncDisposable;

function start(webhooks: WebhooksInput = {}, options: Parameters<typeof startTestTurns>[1] = {}): Promise<Started> {
  return startTestTurns(() => undefined, { ...options, webhooks: { enabled: true, token: TOKEN, ...webhooks } });
}

async function send(t: Started, path: string, body: string, headers: Record<string, string> = signed(body)): Promise<[number, unknown]> {
  const response = await t.gateway.post(path, body, { headers });
  return [response.status, await response.json()];
}

const issues = {
  id: 'issues',
  match: { path: '/Issues/' },
  messageTemplate: '{{action}} by {{payload.sender.login}}',
  sessionKey: '{{payload.id}}',
};
const opened = JSON.stringify({ action: 'opened', sender: { login: 'octocat' }, id: 7 });

test('a signed webhook starts a turn in a session of its mapping', async () => {
  await using t = await start({ mappings: [{ ...issues, agentId: 'oslo' }] });
  assert.deepEqual(await send(t, '/hooks/issues', opened), [200, { received: true, mapping: 'issues' }]);
  const [{ params, principal }] = t.started as [Started['started'][0]];
  assert.deepEqual(
    [params.message, params.agentId, params.session],
    ['opened by octocat', 'oslo', { userId: 'hook:issues:7', channelId: 'webhook' }],
  );
  assert.deepEqual(principal, { tenant: 'default', client: 'webhook/issues', scopes: ['rpc'], sessions: 'own' });
});

test('applies the model and the timeout of the mapping', async () => {
  await using t = await start({ mappings: [{ ...issues, model: 'dev/slow', timeoutSeconds: 90 }, { id: 'plain' }] });
  await send(t, '/hooks/issues', opened);
  await send(t, '/hooks/any', opened);
  assert.deepEqual(
    t.started.map(({ params: { model, timeoutMs } }) => [model, timeoutMs]),
    [
      ['dev/slow', 90_000],
      [undefined, undefined],
    ],
  );
});

test('returns the same response for a repeated delivery and runs it once', async () => {
  await using t = await start({ mappings: [issues] });
  const post = () => t.gateway.post('/hooks/issues', opened, { headers: signed(opened) });
  const answers = await Promise.all([post(), post(), post()]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(t.started.length, 1);
  assert.equal((await post()).headers.get('idempotency-replayed'), 'true');
  const otherBody = opened.replace('7', '8');
  assert.equal((await send(t, '/hooks/issues', otherBody))[0], 200);
  assert.equal(t.started.length, 2);
});

test('accepts a repeated delivery with another rendered message', async () => {
  const mismatch = () => {
    throw new ServiceError('INVALID_ARGUMENT', 'another request', { details: { reason: 'IDEMPOTENCY_MISMATCH' } });
  };
  await using t = await start({ mappings: [issues] }, { handlers: { 'turns.start': mismatch } });
  assert.deepEqual(await send(t, '/hooks/issues', opened), [200, { received: true, mapping: 'issues' }]);
});

test('reports a delivery that cannot be stored, so that the sender retries', async () => {
  const failures = [
    [new ServiceError('UNAVAILABLE', 'away'), 503],
    [new ServiceError('RESOURCE_EXHAUSTED', 'full', { details: { retryAfterMs: 3_000 } }), 429],
    [new ServiceError('INVALID_ARGUMENT', 'Unknown agent: oslo'), 500],
    [new ServiceError('FAILED_PRECONDITION', 'The agent oslo may not use the model x'), 500],
    [new ServiceError('INTERNAL', 'a secret of ours'), 500],
  ] as const;
  for (const [failure, status] of failures) {
    const fail = () => {
      throw failure;
    };
    await using t = await start({ mappings: [issues] }, { handlers: { 'turns.start': fail } });
    const response = await t.gateway.post('/hooks/issues', opened, { headers: signed(opened) });
    const error = status === 500 ? 'Internal error' : 'The webhook cannot be stored at the moment. Send it again.';
    assert.deepEqual([response.status, await response.json()], [status, { error }]);
    assert.equal(response.headers.get('retry-after'), { 503: '1', 429: '3', 500: null }[status]);
  }
});

test('refusals contain only the documented message', async () => {
  await using t = await start({ mappings: [issues], maxBodyBytes: 100 });
  const large = JSON.stringify({ text: 'x'.repeat(200) });
  for (const [path, body, headers, status, error] of [
    ['/hooks/issues', opened, {}, 401, 'Missing webhook signature'],
    ['/hooks/issues', opened, signed('other'), 401, 'Invalid webhook signature'],
    ['/hooks/issues', opened, { ...signed(opened), 'x-webhook-timestamp': '12' }, 401, 'Webhook timestamp expired or invalid'],
    ['/hooks/issues', '{', signed('{'), 400, 'Invalid JSON body'],
    ['/hooks/issues', '', signed(''), 400, 'Invalid JSON body'],
    ['/hooks/issues', '{', signed('other'), 401, 'Invalid webhook signature'],
    ['/hooks/issues', large, signed(large), 400, 'Request body exceeds maximum size'],
    ['/hooks/nobody', opened, signed(opened), 404, 'No matching webhook mapping'],
    ['/hooks/nobody', opened, signed('other'), 401, 'Invalid webhook signature'],
  ] as const)
    assert.deepEqual(await send(t, path, body, { ...headers }), [status, { error }], `${path} ${body.slice(0, 20)}`);
  assert.equal(t.started.length, 0);
});

test('uses the first matching mapping', async () => {
  await using t = await start({
    mappings: [
      { id: 'both', match: { path: 'in', source: 'ci' }, messageTemplate: 'both' },
      { id: 'path', match: { path: 'in' }, messageTemplate: 'path' },
      { id: 'source', match: { source: 'ci' }, messageTemplate: 'source' },
      { match: { path: 'deep/er' }, messageTemplate: 'deep' },
      { id: 'any', messageTemplate: 'any' },
    ],
  });
  for (const [path, body, mapping] of [
    ['/hooks/in', '{"source":"ci"}', 'both'],
    ['/hooks/in', '{"source":"cd"}', 'path'],
    ['/hooks/IN/', '[]', 'path'],
    ['/hooks/out', '{"source":"ci"}', 'source'],
    ['/hooks/deep/er', '{}', null],
    ['/hooks/out', '"ci"', 'any'],
    ['/hooks/webhook', '[1]', 'any'],
  ] as const) {
    // With a token the strict endpoint exists, which accepts only events.
    const expected = path === '/hooks/webhook' ? 422 : 200;
    const [status, answer] = await send(t, path, body);
    assert.equal(status, expected, path);
    if (expected === 200) assert.deepEqual(answer, { received: true, mapping }, `${path} ${body}`);
  }
});

test('keeps a rendered session key within its mapping', async () => {
  await using t = await start({ mappings: [{ id: 'm', sessionKey: '{{key}}', messageTemplate: 'x' }] });
  const users: unknown[] = [];
  for (const key of ['default:alice:gateway', '../../x', 'a b', 'hook:m:7', '7', 'hook:other:7', '', 'x'.repeat(300), 'ü']) {
    const body = JSON.stringify({ key });
    assert.equal((await send(t, '/hooks/any', body))[0], 200, key);
    users.push((t.started.at(-1)?.params.session as { userId: string } | undefined)?.userId);
  }
  for (const user of users) assert.match(String(user), /^hook:m:[A-Za-z0-9._:@-]{1,100}$/);
  assert.deepEqual(
    [users[0], users[3], users[4], users[5], users[6]],
    ['hook:m:default:alice:gateway', 'hook:m:7', 'hook:m:7', 'hook:m:hook:other:7', 'hook:m:webhook'],
  );
  assert.equal(new Set(users).size, users.length - 1, 'only 7 and hook:m:7 are the same');
});

test('uses the body as the message without a template', async () => {
  const mappings = [
    { id: 'plain', match: { path: 'plain' } },
    { id: 'empty', match: { path: 'empty' }, messageTemplate: ' {{nobody}}' },
    { id: 'named', name: 'The builder', match: { path: 'named' } },
  ];
  await using t = await start({ mappings });
  for (const { id } of mappings) await send(t, `/hooks/${id}`, opened);
  assert.deepEqual(
    t.started.map(({ params }) => params.message),
    [opened, opened, `The builder:\n${opened}`],
  );
});

test('removes credentials from the headers of templates', async () => {
  await using t = await start({
    mappings: [{ messageTemplate: '{{headers.authorization}}{{headers.cookie}}{{headers.x-webhook-signature}}{{headers.x-kind}}' }],
  });
  await send(t, '/hooks/any', '{}', { ...signed('{}'), authorization: 'Bearer x', cookie: 'c', 'x-kind': 'kind' });
  assert.equal(t.started[0]?.params.message, 'kind');
});

test('a mapping with the action wake stores an event for heartbeats once', async () => {
  const mapping = { id: 'deploy', action: 'wake', agentId: 'oslo', wakeMode: 'next-heartbeat', textTemplate: '{{action}} {{payload.id}}' };
  await using t = await start({ mappings: [mapping as never] });
  assert.equal((await send(t, '/hooks/deploy', opened))[0], 503, 'no scheduler is running');
  const wakes: Parameters<Handler<'heartbeats.wake'>>[0][] = [];
  await t.gateway.bus.serve(
    scheduler,
    { 'heartbeats.wake': (params) => ({ agents: 1, repeated: wakes.push(params) > 1 }) },
    { version: '0.0.0' },
  );
  const post = () => t.gateway.post('/hooks/deploy', opened, { headers: signed(opened) });
  const [first, second] = [await post(), await post()];
  assert.deepEqual([first.status, await first.json()], [200, { received: true, mapping: 'deploy' }]);
  assert.deepEqual([first.headers.get('idempotency-replayed'), second.headers.get('idempotency-replayed')], [null, 'true']);
  const [wake, repetition] = wakes;
  assert.deepEqual(wake, repetition);
  const { idempotencyKey: _, ...event } = wake!;
  assert.deepEqual(event, { source: 'deploy', agentId: 'oslo', text: 'opened 7', mode: 'next-heartbeat' });
  assert.equal(t.started.length, 0);
});

test('rejects a mapping with deliver without starting a turn', async () => {
  await using t = await start({ mappings: [{ id: 'told', deliver: true, channel: 'telegram', to: '42' }] });
  const response = await t.gateway.post('/hooks/any', '{}', { headers: signed('{}') });
  assert.equal(response.status, 503);
  assert.match(((await response.json()) as { error: string }).error, /^Delivery to a channel is not supported/);
  assert.deepEqual(t.started, []);
});

test('the strict endpoint uses the mapping of the source, or the default agent', async () => {
  await using t = await start({ mappings: [{ id: 'ci', match: { source: 'ci' }, messageTemplate: 'CI says {{event}}: {{data.text}}' }] });
  const event = (source: string) => JSON.stringify({ event: 'build', source, data: { text: 'green' }, timestamp: '2026-01-02T03:04:05Z' });
  assert.deepEqual(await send(t, '/hooks/webhook', event('ci')), [200, { received: true }]);
  assert.deepEqual(await send(t, '/hooks/webhook', event('deploy')), [200, { received: true }]);
  assert.deepEqual(
    t.started.map(({ params }) => [params.message, params.session]),
    [
      ['CI says build: green', { userId: 'hook:ci:webhook', channelId: 'webhook' }],
      [`Event build from deploy:\n${event('deploy')}`, { userId: 'hook:@strict:deploy', channelId: 'webhook' }],
    ],
  );
});

test('the strict endpoint has its own key and names invalid fields', async () => {
  const own = 'the key of the strict endpoint alone.....';
  await using t = await start({ hmac: { secret: own }, mappings: [{ id: 'any' }] });
  const body = '{"event":"","source":7,"data":[],"timestamp":"today"}';
  assert.deepEqual(await send(t, '/hooks/webhook', body), [401, { error: 'Invalid webhook signature' }]);
  assert.deepEqual(await send(t, '/hooks/webhook', body, {}), [401, { error: 'Missing webhook signature' }]);
  assert.deepEqual(await send(t, '/hooks/webhook', '{', signed('{', own)), [400, { error: 'Invalid JSON body' }]);
  const [status, answer] = (await send(t, '/hooks/webhook', body, signed(body, own))) as [
    number,
    { error: string; issues: { path: string; message: string }[] },
  ];
  assert.deepEqual(
    [status, answer.error, answer.issues.map(({ path }) => path)],
    [422, 'Validation failed', ['event', 'source', 'data', 'timestamp']],
  );
  assert.ok(answer.issues.every(({ message }) => message.length > 0));
  assert.equal(t.started.length, 0);
});

test('without a key the path of the strict endpoint is a normal path', async () => {
  await using t = await start({ token: undefined, mappings: [{ id: 'any' }] });
  assert.deepEqual(await send(t, '/hooks/webhook', '[]', {}), [200, { received: true, mapping: 'any' }]);
});

test('identifies an unsigned delivery by its body and its delivery id', async () => {
  await using t = await start({ token: undefined, mappings: [{ id: 'any' }] });
  for (const headers of [{}, {}, { 'x-github-delivery': '1' }, { 'x-github-delivery': '2' }, { 'x-github-delivery': '1' }])
    assert.equal((await send(t, '/hooks/any', '{}', headers as Record<string, string>))[0], 200);
  assert.equal(t.started.length, 3);
});

test('a mapping without a key accepts requests of this machine only, whatever the gateway listens on', async () => {
  const mappings = [{ id: 'any' }];
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    await using t = await start({ token: undefined, mappings }, { settings: { host } });
    assert.equal((await send(t, '/hooks/any', '{}', {}))[0], 200);
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
      const [status, { error }] = (await send(t, '/hooks/any', '{}', { [name]: '127.0.0.1' })) as [number, { error: string }];
      assert.equal(status, 401, name);
      assert.match(error, /webhooks\.allowUnauthenticated/);
    }
    t.gateway.settings.setWebhooks({ enabled: true, mappings, allowUnauthenticated: true });
    assert.equal((await send(t, '/hooks/any', '{}', { via: '1.1 proxy' }))[0], 200);
  }
});

test('a mapping without a key rejects the client of a trusted proxy', async () => {
  await using t = await start({ token: undefined, mappings: [{ id: 'any' }] }, { settings: { trustedProxies: ['127.0.0.1'] } });
  assert.equal((await send(t, '/hooks/any', '{}', { 'x-forwarded-for': '203.0.113.9' }))[0], 401);
});

test('applies changed mappings, path and enabled to the next request', async () => {
  await using t = await startTestTurns();
  assert.equal((await send(t, '/hooks/issues', opened))[0], 404);
  const { settings } = t.gateway;
  settings.setWebhooks({ enabled: true, token: TOKEN, mappings: [issues] });
  assert.equal((await send(t, '/hooks/issues', opened))[0], 200);
  settings.setWebhooks({ enabled: true, token: TOKEN, mappings: [{ ...issues, id: 'renamed' }], path: '/in/coming' });
  assert.equal((await send(t, '/hooks/issues', opened))[0], 404);
  assert.deepEqual(await send(t, '/in/coming/issues?x=1', opened), [200, { received: true, mapping: 'renamed' }]);
  settings.setWebhooks({ enabled: false, token: TOKEN, mappings: [issues] });
  assert.equal((await send(t, '/hooks/issues', opened))[0], 404);
});

test('a preset verifies the signature of its code host', async () => {
  await using t = await start({ presets: ['github', 'gmail'] });
  const body = JSON.stringify({ action: 'opened', repository: { full_name: 'octo/repo' }, sender: { login: 'octocat' } });
  const headers = {
    'x-hub-signature-256': await sign(TOKEN, body),
    'x-github-event': 'issues',
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  };
  assert.deepEqual(await send(t, '/hooks/github', body, headers), [200, { received: true, mapping: 'github' }]);
  assert.deepEqual(
    [t.started[0]?.params.message, t.started[0]?.params.session],
    [
      'GitHub event issues in octo/repo: opened by octocat',
      { userId: 'hook:github:72d3162e-cc78-11e3-81ab-4c9367dc0958', channelId: 'webhook' },
    ],
  );
  assert.deepEqual(await send(t, '/hooks/github', body, { ...headers, 'x-hub-signature-256': await sign('another', body) }), [
    401,
    { error: 'Invalid webhook signature' },
  ]);

  const mail = JSON.stringify({
    messages: [{ id: 'm1', from: 'alice@example.com', subject: 'Hi', snippet: 'Hello', body: 'Hello there' }],
  });
  assert.deepEqual(await send(t, '/hooks/gmail', mail), [200, { received: true, mapping: 'gmail' }]);
  assert.equal(t.started[1]?.params.message, 'New mail from alice@example.com\nSubject: Hi\nHello\nHello there');
});

test('a mapping verifies Standard Webhooks with its own key', async () => {
  const key = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
  await using t = await start({
    mappings: [
      { id: 'std', match: { path: 'std' }, scheme: 'standard', secret: key },
      { id: 'any', messageTemplate: 'x' },
    ],
  });
  const post = (date: Date, id = 'msg_1') =>
    send(t, '/hooks/std', opened, {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(date.getTime() / 1_000)),
      'webhook-signature': new Webhook(key).sign(id, date, opened),
    });
  assert.deepEqual(await post(new Date()), [200, { received: true, mapping: 'std' }]);
  assert.equal((await post(new Date(Date.now() - 5_000)))[0], 200, 'a retry has a new signature');
  assert.equal(t.started.length, 1);
  assert.equal((await post(new Date(), 'msg_2'))[0], 200);
  assert.equal(t.started.length, 2);
  assert.equal((await send(t, '/hooks/std', opened))[0], 401, 'the common key is rejected');
});

test('a mapping verifies Standard Webhooks with the header prefix of its sender', async () => {
  const key = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
  const mappings = [
    { id: 'std', scheme: 'standard' as const, headerPrefix: 'svix-', secret: key, messageTemplate: '[{{headers.svix-signature}}]' },
  ];
  await using t = await start({ mappings });
  const date = new Date();
  const sign = (prefix: string) => ({
    [`${prefix}id`]: 'msg_1',
    [`${prefix}timestamp`]: String(Math.floor(date.getTime() / 1_000)),
    [`${prefix}signature`]: new Webhook(key).sign('msg_1', date, opened),
  });
  assert.deepEqual(await send(t, '/hooks/std', opened, sign('svix-')), [200, { received: true, mapping: 'std' }]);
  assert.equal(t.started[0]?.params.message, '[]', 'templates do not see the signature');
  assert.deepEqual(await send(t, '/hooks/std', opened, sign('webhook-')), [401, { error: 'Missing webhook signature' }]);
});

test('the key of the strict endpoint does not trigger a mapping with its own key', async () => {
  const own = { id: 'own', secret: 'the key of this one mapping alone, and no other' };
  await using t = await start({ mappings: [own, { id: 'any' }] });
  const event = JSON.stringify({ event: 'e', source: 's', data: {} });
  assert.equal((await send(t, '/hooks/webhook', event))[0], 200);
  assert.equal(t.started[0]?.principal.client, 'webhook/any');
});

test('resolves a key through the secrets service and applies a changed key', async () => {
  let value: string | null = TOKEN;
  let fetches = 0;
  const ref = { source: 'env', provider: 'default', id: 'HOOK_TOKEN' } as const;
  await using t = await start({ token: ref, mappings: [issues] });
  assert.equal((await send(t, '/hooks/issues', opened))[0], 503, 'no service resolves the key');
  await t.gateway.bus.serve(
    secrets,
    {
      async 'secrets.webhookKeys'({ to }) {
        fetches += 1;
        return { keys: [{ name: 'HOOK_TOKEN', value: value === null ? null : await encryptSecret('HOOK_TOKEN', value, to) }] };
      },
    },
    { version: '0.0.0' },
  );
  for (let times = 0; times < 3; times += 1) assert.equal((await send(t, '/hooks/issues', opened))[0], 200);
  assert.equal(fetches, 1);
  value = 'a key that somebody set a moment ago......';
  await (await t.gateway.bus.kv(SECRETS_BUCKET)).put('changed', Buffer.from('x'));
  assert.deepEqual(await send(t, '/hooks/issues', opened), [401, { error: 'Invalid webhook signature' }]);
  assert.equal((await send(t, '/hooks/issues', opened, signed(opened, value)))[0], 200);
  value = null;
  await (await t.gateway.bus.kv(SECRETS_BUCKET)).put('changed', Buffer.from('y'));
  assert.deepEqual(await send(t, '/hooks/issues', opened), [500, { error: 'Internal error' }]);
});

test('applies the rate limit of the address without a token', async () => {
  await using t = await start({ mappings: [issues] }, { settings: { rateLimit: { windowMs: 60_000, maxRequests: 2 } } });
  for (const expected of [200, 200, 429]) assert.equal((await send(t, '/hooks/issues', opened))[0], expected);
});
