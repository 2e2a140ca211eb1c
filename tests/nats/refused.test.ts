import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { errors, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { SERVICES, type ServiceName } from '@switchyard/contracts';
import { type NatsServer } from '@switchyard/testkit';
import { getPassword, provision, startDeliveredServer } from './house.ts';

// Subjects are literal here, so that the generated permissions are compared with an independent source.
const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';

/** The users that may use a subject; an empty list allows no user. */
type Table = Readonly<Record<string, readonly ServiceName[]>>;

const PUBLISH: Table = {
  'rpc.secrets.tokens.create': ['gateway'],
  'rpc.registry.config.patch': ['gateway'],
  'rpc.sessions.agent.execute': ['gateway'],
  'rpc.browser.browser.act': ['gateway', 'sessions'],
  'svc.sessions.turns.start': ['gateway'],
  'rpc.secrets.nothing': [],
  'svc.secrets.secrets.sealingKey': ['gateway'],
  'turn.a.turn_1': ['sessions'],
  TURNS_3: [],
  'notify.client.default.ops': ['sessions'],
  'notify.all.default': ['channels'],
  'ctl.gateway.counted': ['gateway'],
  '$KV.tokens.default.ops': ['secrets'],
  '$KV.agents.default.main': ['registry'],
  '$KV.config.head': ['registry'],
  '$JS.API.INFO': [],
  '$JS.API.STREAM.LIST': [],
  '$JS.API.STREAM.NAMES': [],
  '$JS.API.STREAM.CREATE.MINE': [],
  '$JS.API.STREAM.UPDATE.EVENTS': [],
  '$JS.API.STREAM.UPDATE.TURNS_0': [],
  '$JS.API.STREAM.DELETE.TURNS_0': [],
  '$JS.API.STREAM.PURGE.KV_tokens': [],
  '$JS.API.STREAM.MSG.DELETE.EVENTS': [],
  '$JS.API.STREAM.MSG.GET.KV_tokens': ['secrets'],
  '$JS.API.STREAM.MSG.GET.EVENTS': [],
  '$JS.API.DIRECT.GET.TURNS_0': ['gateway', 'sessions'],
  '$JS.API.DIRECT.GET.TURNS_15': ['gateway', 'sessions'],
  '$JS.API.DIRECT.GET.TURNS_16': [],
  '$JS.API.DIRECT.GET.EVENTS': ['gateway', 'observability'],
  '$JS.API.CONSUMER.CREATE.TURNS_0': [],
  '$JS.API.CONSUMER.CREATE.EVENTS.mine.evt.>': [],
  '$JS.API.CONSUMER.CREATE.KV_tokens.mine.$KV.tokens.>': ['gateway', 'registry', 'secrets'],
  '$JS.API.CONSUMER.DELETE.KV_tokens.theirs': [],
  '$SRV.INFO': [],
  '_INBOX.anybody': [],
};

const SUBSCRIBE: Table = {
  '>': [],
  '*.*.>': [],
  'rpc.>': [],
  'svc.>': [],
  '_INBOX.>': [],
  '_INBOX_bus.>': [],
  '$KV.>': [],
  '$JS.>': [],
  '$SYS.>': [],
  'ctl.>': [],
  'turn.*.*': ['gateway', 'sessions'],
  'turn.>': [],
  'evt.>': ['gateway', 'observability'],
  'notify.client.*.*': ['gateway'],
  'notify.all.*': ['gateway'],
  'ctl.gateway.counted': ['gateway'],
};

describe('permissions on the bus', { skip: OFF, timeout: 120_000 }, () => {
  let server: NatsServer;
  before(async () => {
    server = await startDeliveredServer();
    await provision(server);
  });
  after(() => server.stop());

  for (const service of SERVICES) {
    test(`${service} uses its own subjects and no others`, async () => {
      const probe = await probeAs(server, service);
      try {
        const wrong: string[] = [];
        for (const [subject, may] of Object.entries(PUBLISH))
          if ((await probe.publishes(subject)) !== may.includes(service)) wrong.push(`publish ${subject}`);
        for (const [subject, may] of Object.entries(SUBSCRIBE))
          if ((await probe.subscribes(subject)) !== may.includes(service)) wrong.push(`subscribe ${subject}`);
        for (const other of SERVICES) wrong.push(...(await probeBoundary(probe, service, other)));
        assert.deepEqual(wrong, []);
      } finally {
        await probe.connection.close();
      }
    });
  }

  test('only the called service can reply', async () => {
    const [request, meddler] = [await probeAs(server, 'secrets'), await probeAs(server, 'registry')];
    try {
      assert.equal(await request.publishes('_INBOX_sessions.conn.r.1.secrets'), true);
      assert.equal(await meddler.publishes('_INBOX_sessions.conn.r.1.secrets'), false);
      assert.equal(await request.publishes('_INBOX_sessions.conn.r.1.registry'), false);
      assert.equal(await request.publishes('_INBOX_gateway.conn.w.1'), false);
      assert.equal(await meddler.publishes('_INBOX_memory.conn.r.1.registry'), true, 'memory asks it for vectors');
      assert.equal(await meddler.publishes('_INBOX_secrets.conn.r.1.registry'), false, 'secrets asks it nothing');
    } finally {
      await Promise.all([request.connection.close(), meddler.connection.close()]);
    }
  });

  test('the provisioning job creates streams but reads nothing; the operator discovers services', async () => {
    const [job, operator] = [await probeAs(server, 'provisioner'), await probeAs(server, 'operator')];
    try {
      assert.equal(await job.publishes('$JS.API.STREAM.CREATE.EVENTS'), true);
      for (const subject of ['$JS.API.STREAM.CREATE.MINE', '$JS.API.STREAM.DELETE.EVENTS', '$KV.tokens.a.b', 'rpc.secrets.tokens.list'])
        assert.equal(await job.publishes(subject), false, subject);
      assert.equal(await operator.publishes('$SRV.PING'), true);
      for (const subject of ['rpc.secrets.tokens.list', '$JS.API.STREAM.LIST', 'evt.secrets.token.created.default'])
        assert.equal(await operator.publishes(subject), false, subject);
      for (const probe of [job, operator]) assert.equal(await probe.subscribes('evt.>'), false);
    } finally {
      await Promise.all([job.connection.close(), operator.connection.close()]);
    }
  });

  test('rejects connections without credentials or with wrong ones', async () => {
    for (const options of [{}, { user: 'gateway', pass: 'wrong' }, { user: 'nobody', pass: getPassword('gateway') }, { token: 'any' }])
      await assert.rejects(connect({ servers: server.url, reconnect: false, ...options }), errors.AuthorizationError);
  });
});

/** Subjects of another service: calls, inbox, events and status. */
async function probeBoundary(probe: Probe, service: ServiceName, other: ServiceName): Promise<string[]> {
  const wrong: string[] = [];
  const mine = service === other;
  for (const subject of [`_INBOX_${other}.>`, `ctl.${other}.cancel`, `ctl.${other}.wake`, `$SRV.STATS.${other}`])
    if ((await probe.subscribes(subject)) !== mine) wrong.push(`subscribe ${subject}`);
  for (const subject of [`rpc.${other}.>`, `svc.${other}.>`, `evt.${other}.>`])
    if ((await probe.subscribes(subject)) && !(subject.startsWith('evt') && READS_EVENTS.includes(service)))
      wrong.push(`subscribe ${subject}`);
  for (const subject of [`evt.${other}.any.thing`, `$KV.replicas.${other}.one`])
    if ((await probe.publishes(subject)) !== mine) wrong.push(`publish ${subject}`);
  const wakes = mine || (service === 'sessions' && ORDERS_TURNS.includes(other));
  if ((await probe.publishes(`ctl.${other}.wake`)) !== wakes) wrong.push(`publish ctl.${other}.wake`);
  return wrong;
}

/** Services that sessions wakes when a turn ends that they ordered. */
const ORDERS_TURNS: readonly ServiceName[] = ['scheduler', 'graph', 'channels', 'tools'];
const READS_EVENTS: readonly ServiceName[] = ['gateway', 'observability'];

interface Probe {
  readonly connection: NatsConnection;
  publishes(subject: string): Promise<boolean>;
  subscribes(subject: string): Promise<boolean>;
}

/** The server sends a permission error before its next pong. */
async function probeAs(server: NatsServer, user: string): Promise<Probe> {
  const connection = await connect({ servers: server.url, user, pass: getPassword(user), inboxPrefix: `_INBOX_${user}` });
  let refusals = 0;
  void (async () => {
    for await (const status of connection.status()) if (status.type === 'error') refusals++;
  })();
  const allowed = async (attempt: () => void): Promise<boolean> => {
    const earlier = refusals;
    attempt();
    await connection.flush();
    await new Promise(setImmediate);
    return refusals === earlier;
  };
  return {
    connection,
    publishes: (subject) => allowed(() => connection.publish(subject, 'not what anybody expects')),
    async subscribes(subject) {
      const ended = () => undefined;
      let subscription: { unsubscribe(): void } | undefined;
      const may = await allowed(() => (subscription = connection.subscribe(subject, { callback: ended })));
      subscription?.unsubscribe();
      return may;
    },
  };
}
