import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contracts, SEALING_KEY } from '@switchyard/contracts';
import { createDecryptionKey, encryptTo } from '@switchyard/security';
import type { Bus, Handlers } from '../client/bus.ts';
import { callable, forward, version, type BusFixture, type Join } from './bus-fixture.contract.ts';
import { formatHeaders, PRINCIPAL, SEAL } from '../wire/headers.ts';
import { encodePrincipal } from '../wire/principal-header.ts';
import type { Message, Outgoing, Transport } from '../wire/transport.ts';

const VALUE = 'quince-4711-of-the-operator';
const TOKEN = `sy_pat_${'t'.repeat(60)}`;
const SET = JSON.stringify({ key: 'A_KEY', value: VALUE });
const NOT_DECRYPTED = { code: 'UNAVAILABLE', details: { reason: 'NOT_SEALED', retryable: true } };
/** Shared by all replicas of the service. */
const SEED = Buffer.alloc(32, 7);

interface ServeSecretsOptions {
  now?: () => number;
  /** The key that the service issues. */
  key?: string;
  /** Collects what the handlers received. */
  received?: unknown[];
}

/** A service with sealed params (`env.set`) and a sealed result (`tokens.rotate`). */
async function serveSecrets(join: Join, options: ServeSecretsOptions): Promise<Bus> {
  const decryptionKey = createDecryptionKey(SEED);
  const { now = Date.now, key = decryptionKey.publicKey, received = [] } = options;
  const bus = await join({ service: 'secrets' });
  const handlers: Handlers<typeof contracts.secrets> = {
    [SEALING_KEY]: () => ({ key, at: now() }),
    'env.set': ({ key: name, value }) => {
      received.push(value);
      return { set: true, key: name, storage: 'encrypted', restarting: true };
    },
    'tokens.rotate': ({ id }) => {
      received.push(id);
      return { id, secret: TOKEN, scopes: ['rpc'], rotated: true };
    },
  };
  const paramsDecryption = { key: decryptionKey, isFresh: (at: number) => Math.abs(Date.now() - at) < 60_000 };
  await bus.serve(contracts.secrets, handlers, { version, paramsDecryption });
  return bus;
}

/** Records every message on the bus. */
async function recordMessages(raw: () => Promise<Transport>): Promise<{ messages: Message[]; text: () => string }> {
  const messages: Message[] = [];
  const tap = await raw();
  tap.subscribe('>', (message) => void messages.push(message));
  await tap.flush();
  return { messages, text: () => messages.map(({ data }) => Buffer.from(data).toString()).join('\n') };
}

/** No message contains a member that the contract declares as sealed. */
export function sealedContract({ withBuses }: BusFixture): void {
  test('sealed params and results cross the bus encrypted only', async () => {
    await withBuses(async (join, raw) => {
      const received: unknown[] = [];
      await serveSecrets(join, { received });
      const { messages, text } = await recordMessages(raw);
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
      assert.deepEqual(received, [VALUE, VALUE, 'laptop', 'laptop']);
      const mistyped = await forward(gateway, 'env.set', JSON.stringify({ key: 'A_KEY', vlaue: VALUE }));
      assert.equal(mistyped.error?.code, 'INVALID_ARGUMENT', 'a value under a mistyped name is encrypted as well');
      const requests = messages.filter(({ subject }) => subject === callable('env.set').subject);
      assert.ok(requests.length === 3 && text().includes('"sealed":"eyJ'));
      for (const secret of [VALUE, TOKEN, Buffer.from(SET).toString('base64url').slice(0, 40)]) assert.ok(!text().includes(secret));
    });
  });

  test('every replica decrypts sealed params, and a service with another key rejects them before the handler runs', async () => {
    await withBuses(async (join) => {
      const received: unknown[] = [];
      await Promise.all([serveSecrets(join, { received }), serveSecrets(join, { received })]);
      const gateway = await join({ service: 'gateway' });
      for (let n = 0; n < 10; n++) await gateway.call('env.set', { key: 'A_KEY', value: `${VALUE} ${n}` });
      assert.equal(received.length, 10);
    });
    await withBuses(async (join) => {
      const received: unknown[] = [];
      await serveSecrets(join, { received, key: createDecryptionKey().publicKey });
      const gateway = await join({ service: 'gateway' });
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), NOT_DECRYPTED, 'a retryable error');
      assert.deepEqual(received, []);
    });
  });

  test('recorded params are rejected for another principal or call, with a changed byte, after a minute, and in clear text', async () => {
    await withBuses(async (join, raw) => {
      const received: unknown[] = [];
      const clock = { now: Date.now() };
      await serveSecrets(join, { received, now: () => clock.now });
      const { messages } = await recordMessages(raw);
      const gateway = await join({ service: 'gateway' });
      await forward(gateway, 'env.set', SET);
      const recorded = messages.find((message) => message.subject === callable('env.set').subject) ?? assert.fail();
      const { subject, data } = recorded;
      const [principal, seal] = [recorded.header(PRINCIPAL) ?? '', recorded.header(SEAL) ?? ''];
      const sender = await raw();
      const replay = (change: { principal?: string; seal?: string; bytes?: Uint8Array }) =>
        send(sender, { subject, data: change.bytes ?? data }, change.principal ?? principal, change.seal ?? seal);
      assert.match(await replay({}), /"set":true/, 'within a minute the same message sets the same value again');
      const otherPrincipal = (encodePrincipal({ tenant: 'b', client: 'eve', scopes: ['*'] }) as string).slice(`\r\n${PRINCIPAL}: `.length);
      const [replyKey, , keyIssuedAt] = seal.split('.');
      const changes = {
        'another principal': { principal: otherPrincipal },
        'another call': { seal: `${replyKey}.${'n'.repeat(22)}.${keyIssuedAt}` },
        'a changed byte': { bytes: changeByte(data) },
      };
      for (const [description, change] of Object.entries(changes))
        assert.match(await replay(change), /UNAVAILABLE.*NOT_SEALED/, description);
      assert.match(await replay({ bytes: Buffer.from(SET) }), /FAILED_PRECONDITION.*NOT_SEALED/, 'clear text');
      assert.match(await replay({ seal: 'none' }), /NOT_SEALED/);
      clock.now -= 120_000;
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), NOT_DECRYPTED, 'a key that was issued too long ago');
      assert.deepEqual(received, [VALUE, VALUE]);
    });
  });

  test('a result in clear text, for another process or for an earlier call is discarded', async () => {
    await withBuses(async (join, raw) => {
      const result = { id: 'a', secret: 'of the attacker', scopes: [], rotated: true };
      const forged: { bytes: (seal: string) => Promise<Uint8Array> | Uint8Array } = { bytes: () => Buffer.from(JSON.stringify(result)) };
      const attacker = await raw();
      attacker.subscribe(callable('tokens.rotate').subject, async (message) => {
        attacker.publish({ subject: message.reply ?? '', data: await forged.bytes(message.header(SEAL) ?? '') });
      });
      await attacker.flush();
      const gateway = await join({ service: 'gateway' });
      const discarded = { code: 'DATA_LOSS', details: { reason: 'NOT_SEALED', retryable: false } };
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), discarded, 'clear text');
      const encryptResult = async (key: string, seal: string): Promise<Uint8Array> => {
        const binding = { direction: 'result', method: 'tokens.rotate', seal };
        return Buffer.from(JSON.stringify({ sealed: await encryptTo(key, Buffer.from(JSON.stringify(result)), binding) }));
      };
      forged.bytes = (seal) => encryptResult(createDecryptionKey().publicKey, seal);
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), discarded, 'another process');
      const answers: Promise<Uint8Array>[] = [];
      forged.bytes = (seal) => {
        answers.push(encryptResult(seal.split('.')[0] ?? '', seal));
        return answers[0] ?? assert.fail();
      };
      assert.equal((await gateway.call('tokens.rotate', { id: 'a' })).secret, 'of the attacker', 'the answer to this call is accepted');
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), discarded, 'an earlier call');
      forged.bytes = async (seal) => changeByte(await encryptResult(seal.split('.')[0] ?? '', seal));
      await assert.rejects(gateway.call('tokens.rotate', { id: 'a' }), discarded, 'a changed byte');
    });
  });

  test('a call whose result could not be encrypted to the caller is rejected before the handler runs', async () => {
    await withBuses(async (join, raw) => {
      const received: unknown[] = [];
      await serveSecrets(join, { received });
      const sender = await raw();
      const rotate = { subject: callable('tokens.rotate').subject, data: Buffer.from('{"id":"a"}') };
      const lowOrderKey = `${'A'.repeat(43)}.${'n'.repeat(22)}.0`;
      for (const seal of ['', lowOrderKey])
        assert.match(await send(sender, rotate, JSON.stringify(['a', 'b', 'admin', 0, 0, 0]), seal), /NOT_SEALED/);
      assert.deepEqual(received, []);
    });
  });

  test('a sealed call without a service names the method, and serve() rejects sealed params without paramsDecryption', async () => {
    await withBuses(async (join) => {
      const gateway = await join({ service: 'gateway' });
      await assert.rejects(gateway.call('env.set', { key: 'A_KEY', value: VALUE }), { code: 'UNAVAILABLE', message: /env\.set/ });
      const bus = await join({ service: 'secrets' });
      const served = bus.serve(contracts.secrets, { 'env.set': () => assert.fail() }, { version });
      await assert.rejects(served, /needs paramsDecryption/);
    });
  });

  test('a cancelled sealed call rejects with CANCELLED and reports no result later', async () => {
    await withBuses(async (join) => {
      const received: unknown[] = [];
      await serveSecrets(join, { received });
      const gateway = await join({ service: 'gateway' });
      const cancelling = new AbortController();
      const call = gateway.call('env.set', { key: 'A_KEY', value: VALUE }, { signal: cancelling.signal });
      cancelling.abort();
      await assert.rejects(call, { code: 'CANCELLED' });
      await gateway.call('tokens.rotate', { id: 'after' });
      assert.deepEqual(received, ['after']);
    });
  });
}

/** Changes one byte of the ciphertext in a sealed message body. */
function changeByte(body: Uint8Array): Uint8Array {
  const { sealed } = JSON.parse(Buffer.from(body).toString()) as { sealed: string };
  const parts = sealed.split('.');
  const ciphertext = Buffer.from(parts[3] ?? '', 'base64url');
  ciphertext.writeUInt8(ciphertext.readUInt8(0) ^ 1, 0);
  return Buffer.from(JSON.stringify({ sealed: parts.with(3, ciphertext.toString('base64url')).join('.') }));
}

async function send(transport: Transport, message: Pick<Outgoing, 'subject' | 'data'>, principal: string, seal: string): Promise<string> {
  const reply = `${transport.inbox}.replay.${sent++}`;
  const answer = new Promise<string>((resolve) => {
    transport.subscribe(reply, ({ data }) => resolve(Buffer.from(data).toString()));
  });
  await transport.flush();
  transport.publish({ ...message, reply, headers: formatHeaders([PRINCIPAL, principal], [SEAL, seal]) });
  return answer;
}

let sent = 0;
