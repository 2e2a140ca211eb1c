import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@switchyard/client';
import { type ServicePresence } from '@switchyard/contracts';
import { tempDir, type StartedProcess } from '@switchyard/testkit';
import { BUILT, getPassword, provision, startDeliveredServer, startOne, TOKEN } from './house.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

test('each service works with the permissions of its NATS user', { skip: NATS_OFF, timeout: 240_000 }, async () => {
  await using house = new AsyncDisposableStack();
  const server = await startDeliveredServer();
  house.defer(() => server.stop());
  const data = house.use(await tempDir()).path;

  // A service that starts before the job waits for it and creates no streams.
  const secrets = house.use(await startOne(server, 'secrets', { data, ready: /The bus has no (stream|bucket) \w+ yet/ }));
  assert.match(
    await provision(server),
    /^0 provisioned: TURNS_0 EVENTS tokens agents offered-tools config levels restart secrets tickets replicas\n$/,
  );
  assert.match(await provision(server), /^0 provisioned/, 'doing it again changes nothing');
  await secrets.line(/"msg":"serving"/);
  const processes: StartedProcess[] = [secrets];
  const starts = BUILT.slice(1).map(async (service) => house.use(await startOne(server, service, { data, ready: /"msg":"serving"/ })));
  // All are stopped, also if one fails.
  await Promise.allSettled(starts);
  processes.push(...(await Promise.all(starts)));

  const [, url = ''] = /"url":"(http[^"]+)"/.exec(processes.at(-1)?.output() ?? '') ?? [];
  const client = createClient({ url, token: TOKEN });
  const { response } = await client.call('agent.execute', { message: 'hello' });
  assert.match(response, /You said: hello/);
  const seen: string[] = [];
  for await (const event of client.chat('count to three', {})) seen.push(event.type);
  assert.ok(seen.includes('token') && seen.at(-1) === 'done', seen.join(' '));
  await client.call('agents.create', { name: 'Second' });
  const second = await client.call('agent.execute', { message: 'hi', agentId: 'second' });
  assert.match(second.response, /You said: hi/);
  // An agent of 200 KB: a bucket value above the size of other messages.
  const large = { trustPromptOverrides: { known: 'w'.repeat(200_000) } };
  await client.call('agents.update', { agentId: 'second', provider: 'dev', model: 'slow', elevatedReply: large });
  const answer = async (): Promise<string> => (await client.call('agent.execute', { message: 'hi', agentId: 'second' })).response;
  while (!(await answer()).startsWith('I am dev/slow')) await new Promise((resolve) => setTimeout(resolve, 50));
  const { secret } = await client.call('tokens.create', { id: 'other', scopes: ['rpc', 'admin'] });
  const other = createClient({ url, token: secret });
  assert.ok((await other.call('session.list', {})).sessions);
  const made = await fetch(`${url}/api/tickets`, { method: 'POST', headers: { authorization: `Bearer ${secret}` } });
  const { ticket } = (await made.json()) as { ticket: string };
  const opened = await fetch(`${url}/api/events?ticket=${ticket}`);
  assert.equal(opened.status, 200, 'a ticket is written and used up');
  await opened.body?.cancel();
  await client.call('tokens.revoke', { id: 'other' });
  await assert.rejects(other.call('session.list', {}));
  const ready = (await (await fetch(`${url}/readyz`, { headers: { authorization: `Bearer ${TOKEN}` } })).json()) as {
    services: ServicePresence[];
  };
  const up = ready.services.filter(({ state }) => state === 'up').map(({ service }) => service);
  assert.deepEqual(up.toSorted(), [...BUILT].toSorted());

  for (const one of processes) {
    await one.end();
    const [, sinceItWasThere = ''] = /(?:.*is not available yet"[^\n]*\n)?(.*)/s.exec(one.output()) ?? [];
    assert.doesNotMatch(sinceItWasThere, /permissions violation/i);
    assert.match(sinceItWasThere, /"msg":"serving"/);
    for (const service of BUILT) assert.ok(!one.output().includes(getPassword(service)), 'a password is in no log');
  }
});
