import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, SEALING_KEY } from '@switchyard/contracts';
import { openBox } from '@switchyard/security';
import type { Bus, Handlers } from './bus.ts';
import { callable, forward, version, type BusFixture, type Join } from './fixture.contract.ts';
import { headerLines, PRINCIPAL, SEAL } from './headers.ts';
import { encodePrincipal } from './principal.ts';
import type { Message, Outgoing, Transport } from './transport.ts';

const VALUE = 'quince-4711-of-the-operator';
const TOKEN = `sy_pat_${'t'.repeat(60)}`;
const SET = JSON.stringify({ key: 'A_KEY', value: VALUE });
const REFUSED = { code: 'UNAVAILABLE', details: { reason: 'NOT_SEALED', retryable: true } };
/** What all replicas of the service have. */
const SEED = Buffer.alloc(32, 7);

/** A service that is told a secret and one that makes one, and all that was sent to it and by it. */
async function owner(join: Join, given: { now?: () => number; key?: string; told?: unknown[] }): Promise<Bus> {
  const box = openBox(SEED);
  const { now = Date.now, key = box.key, told = [] } = given;
  const bus = await join({ service: 'secrets' });
  const handlers: Handlers<typeof contracts.secrets> = {
    [SEALING_KEY]: () => ({ key, at: now() }),
    'env.set': ({ key: name, value }) => {
      told.push(value);
      return { set: true, key: name, storage: 'encrypted', restarting: true };
    },
    'tokens.rotate': ({ id }) => {
      told.push(id);
      return { id, secret: TOKEN, scopes: ['rpc'], rotated: true };
    },
  };
  await bus.serve(contracts.secrets, handlers, { version, opening: { box, isFresh: (at) => Math.abs(Date.now() - at) < 60_000 } });
  return bus;
}

/** Everything that crosses, as whoever is in the middle has it. */
async function tapped(raw: () => Promise<Transport>): Promise<{ heard: Message[]; text: () => string }> {
  const heard: Message[] = [];
  const tap = await raw();
  tap.subscribe('>', (message) => void heard.push(message));
  await tap.flush();
  return { heard, text: () => heard.map(({ data }) => Buffer.from(data).toString()).join('\n') };
}

/** Members that a contract calls secret are in no message, whoever calls and over whatever it goes. */
export function sealedContract({ withBuses }: BusFixture): void {
  test('secret params and results are in no message, and both sides see them as if nothing had happened', async () => {
    await withBuses(async (join, raw) => {
      const told: unknown[] = [];
      await owner(join, { told });
      const { heard, text } = await tapped(raw);
      const gateway = await join({ service: 'gateway' });
      assert.deepEqual(await gateway.call('env.set', { key: 'A_KEY', value: VALUE }), {
        set: true,
        key: 'A_KEY',
        storage: 'encrypted',
        restarting: true,
      });
      const { data } = await forward(gateway, 'env.set', SET);
      assert.equal(JSON.parse(Buffer.from(data ?? []).toString()).set, true);
      assert.equal((await gateway.call('tokens.rotate', { id: 'laptop' })).secret, TOKEN);
      const rotated = await forward(gateway, 'tokens.rotate', '{"id":"laptop"}');
      assert.equal(JSON.parse(Buffer.from(rotated.data ?? []).toString()).secret, TOKEN);
      assert.deepEqual(told, [VALUE, VALUE, 'laptop', 'laptop']);
      const mistyped = await forward(gateway, 'env.set', JSON.stringify({ key: 'A_KEY', vlaue: VALUE }));
      assert.equal(mistyped.error?.code, 'INVALID_ARGUMENT', 'and what stands under a wrong name is as hidden');
      assert.ok(heard.filter(({ subject }) => subject === callable('env.set').subject).length === 3 && text().includes('"sealed":"AGS1.'));
      for (const secret of [VALUE, TOKEN, Buffer.from(SET).toString('base64url').slice(0, 40)]) assert.ok(!text().includes(secret));
    });
  });

  test('every replica opens what was sealed to one of them; one with another key refuses it, and nothing is done', async () => {
    await withBuses(async (join) => {
      const told: unknown[] = [];
      await Promise.all([owner(join, { told }), owner(join, { told })]);
      const gateway = await join({ service: 'gateway' });
      for (let n = 0; n < 10; n++) await gateway.call('env.set', { key: 'A_KEY', value: `${VALUE} ${n}` });
      assert.equal(told.length, 10);
    });
    await withBuses(async (join) => {
      const told: unknown[] = [];
      await owner(join, { told, key: openBox().key });
      const gateway = await join({ service: 'gateway' });
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), REFUSED, 'it may be tried again');
      assert.deepEqual(told, []);
    });
  });

  test('what was captured opens neither for another principal, nor in another call, nor later; nor does what nobody sealed', async () => {
    await withBuses(async (join, raw) => {
      const told: unknown[] = [];
      const clock = { now: Date.now() };
      await owner(join, { told, now: () => clock.now });
      const { heard } = await tapped(raw);
      const gateway = await join({ service: 'gateway' });
      await forward(gateway, 'env.set', SET);
      const captured = heard.find((message) => message.subject === callable('env.set').subject) ?? assert.fail();
      const { subject, data } = captured;
      const [principal, seal] = [captured.header(PRINCIPAL) ?? '', captured.header(SEAL) ?? ''];
      const sender = await raw();
      const play = (headers: { principal?: string; seal?: string; bytes?: Uint8Array }) =>
        asked(sender, { subject, data: headers.bytes ?? data }, headers.principal ?? principal, headers.seal ?? seal);
      assert.match(await play({}), /"set":true/, 'within its minute, for whoever may send as the edge: the same value again');
      const another = (encodePrincipal({ tenant: 'b', client: 'eve', scopes: ['*'] }) as string).slice(`\r\n${PRINCIPAL}: `.length);
      const [key, , at] = seal.split('.');
      const wrong = { 'another principal': { principal: another }, 'another call': { seal: `${key}.${'n'.repeat(22)}.${at}` } };
      for (const [what, change] of Object.entries(wrong)) assert.match(await play(change), /NOT_SEALED/, what);
      assert.match(await play({ bytes: Buffer.from(SET) }), /FAILED_PRECONDITION.*NOT_SEALED/, 'clear text');
      assert.match(await play({ seal: 'none' }), /NOT_SEALED/);
      clock.now -= 120_000;
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), REFUSED, 'an old one');
      assert.deepEqual(told, [VALUE, VALUE]);
    });
  });

  test('an answer in clear, or sealed for another call, is not used; and nothing is made for whom it could not be sealed to', async () => {
    await withBuses(async (join, raw) => {
      const answer: { bytes: Uint8Array } = {
        bytes: Buffer.from(JSON.stringify({ id: 'a', secret: 'of the meddler', scopes: [], rotated: true })),
      };
      const meddler = await raw();
      meddler.subscribe(
        callable('tokens.rotate').subject,
        ({ reply }) => void meddler.publish({ subject: reply ?? '', data: answer.bytes }),
      );
      await meddler.flush();
      const gateway = await join({ service: 'gateway' });
      const refused = { code: 'DATA_LOSS', details: { reason: 'NOT_SEALED', retryable: false } };
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), refused);
      const box = openBox();
      answer.bytes = Buffer.from(JSON.stringify({ sealed: box.seal(openBox().key, Buffer.from('{}'), []) }));
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), refused);
    });
    await withBuses(async (join, raw) => {
      const told: unknown[] = [];
      await owner(join, { told });
      const sender = await raw();
      const rotate = { subject: callable('tokens.rotate').subject, data: Buffer.from('{"id":"a"}') };
      const everybody = `${'A'.repeat(43)}.${'n'.repeat(22)}.0`;
      for (const seal of ['', everybody])
        assert.match(await asked(sender, rotate, JSON.stringify(['a', 'b', 'admin', 0, 0, 0]), seal), /NOT_SEALED/);
      assert.deepEqual(told, []);
    });
  });

  test('nobody there to seal to is nobody there; and a method with secret params is not served by what cannot open them', async () => {
    await withBuses(async (join) => {
      const gateway = await join({ service: 'gateway' });
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), { code: 'UNAVAILABLE', message: /env\.set/ });
      const bus = await join({ service: 'secrets' });
      const served = bus.serve(contracts.secrets, { 'env.set': () => assert.fail() }, { version });
      await assert.rejects(served, /nothing opens them/);
    });
  });
}

async function asked(transport: Transport, message: Pick<Outgoing, 'subject' | 'data'>, principal: string, seal: string): Promise<string> {
  const reply = `${transport.inbox}.played.${asks++}`;
  const answer = new Promise<string>((resolve) => {
    transport.subscribe(reply, ({ data }) => resolve(Buffer.from(data).toString()));
  });
  await transport.flush();
  transport.publish({ ...message, reply, headers: headerLines([PRINCIPAL, principal], [SEAL, seal]) });
  return answer;
}

let asks = 0;
