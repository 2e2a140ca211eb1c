import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, contracts, createServiceError, type Params } from '@switchyard/contracts';
import { createLogger, hideValue } from '@switchyard/telemetry';
import type { Ctx } from '../client/bus.ts';
import { createResultEncoder } from '../wire/encoding.ts';
import { formatHeaders } from '../wire/headers.ts';
import { alice, forward, result, to, version, type BusFixture } from './bus-fixture.contract.ts';

/** Unary calls: one request, one result or one typed error. */
export function callContract({ withBuses, withSecrets }: BusFixture): void {
  test('overload rejections share log lines that list all request ids', async () => {
    const lines: { msg: string; requestId?: string; requestIds?: string[]; err?: unknown }[] = [];
    const log = createLogger({ destination: { write: (text: string) => void lines.push(JSON.parse(text) as (typeof lines)[0]) } });
    const resolve = ({ name }: Params<'secrets.resolve'>) => {
      throw name === 'A' ? createServiceError('RESOURCE_EXHAUSTED', 'too much') : new ServiceError('NOT_FOUND', 'no such secret');
    };
    await withBuses(async (join) => {
      const owner = await join({ service: 'secrets', log });
      const served = await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      const caller = await join({ service: 'sessions' });
      const sendRequest = (name: string, requestId: string) =>
        caller.call('secrets.resolve', { name, to }, { requestId }).catch(() => undefined);
      await Promise.all(Array.from({ length: 300 }, (_, at) => sendRequest('A', `a${at}`)));
      await Promise.all(Array.from({ length: 50 }, (_, at) => sendRequest('B', `b${at}`)));
      await served.drain(1_000);
    });
    const failed = lines.filter(({ msg }) => msg === 'call failed');
    const ids = failed.flatMap(({ requestId, requestIds = [String(requestId)] }) => requestIds);
    for (const [letter, count] of [['a', 300] as const, ['b', 50] as const])
      assert.deepEqual(ids.filter((id) => id.startsWith(letter)).sort(), Array.from({ length: count }, (_, at) => `${letter}${at}`).sort());
    assert.ok(failed.length < 150, `${failed.length} lines`);
  });

  test('a call returns the result of its handler, which gets the principal', async () => {
    const seen: Pick<Ctx, 'principal' | 'requestId' | 'traceparent'>[] = [];
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
    await withSecrets(
      ({ name: question }, { principal, requestId, traceparent: trace }) => {
        seen.push({ principal, requestId, traceparent: trace });
        return { value: `of-${question}` };
      },
      async (caller) => {
        assert.deepEqual(await caller.as(alice).call('secrets.resolve', { name: 'API_KEY', to }, { requestId: 'req_1', traceparent }), {
          value: 'of-API_KEY',
        });
        await caller.call('secrets.resolve', { name: 'B', to });
      },
    );
    assert.deepEqual(seen[0], { principal: alice, requestId: 'req_1', traceparent });
    assert.deepEqual(seen[1]?.principal, { tenant: 'default', client: 'service:sessions', scopes: ['*'] });
    assert.match(seen[1]?.requestId ?? '', /^req_/);
    assert.equal(seen[1]?.traceparent, undefined);
  });

  test('1,000 concurrent calls each get their own result', async () => {
    await withSecrets(
      async ({ name: asked }, { requestId }) => {
        if (asked.length % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
        return { value: `${asked}-${requestId}` };
      },
      async (caller) => {
        const requests = Array.from({ length: 1_000 }, (_, n) => `K${n}`);
        const answers = await Promise.all(
          requests.map((one) => caller.call('secrets.resolve', { name: one, to }, { requestId: `req_${one}` })),
        );
        assert.deepEqual(
          answers.map(({ value }) => value),
          requests.map((one) => `${one}-req_${one}`),
        );
      },
    );
  });

  test('a ServiceError arrives with code, message and details', async () => {
    await withSecrets(
      () => Promise.reject(new ServiceError('NOT_FOUND', 'no such — thing', { details: { reason: 'GONE', retryAfterMs: 5, extra: [1] } })),
      async (caller) => {
        await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
          name: 'ServiceError',
          code: 'NOT_FOUND',
          message: 'no such — thing',
          details: { reason: 'GONE', retryAfterMs: 5, extra: [1] },
        });
      },
    );
  });

  test('other errors arrive as INTERNAL without details and are logged with their stack', async () => {
    const logged: unknown[] = [];
    const log = createLogger({ level: 'error', destination: { write: (line: string) => void logged.push(JSON.parse(line)) } });
    const failing = (): never => {
      throw new Error('no luck');
    };
    await withSecrets(
      failing,
      async (caller) => {
        const error = await caller.call('secrets.resolve', { name: 'A', to }, { requestId: 'req_9' }).catch((thrown: unknown) => thrown);
        assert.deepEqual({ ...(error as object) }, { name: 'ServiceError', code: 'INTERNAL', details: {} });
        assert.equal((error as Error).message, 'Internal error');
      },
      { log },
    );
    const [{ err, requestId, method }] = logged as [{ err: Error; requestId: string; method: string }];
    assert.deepEqual([requestId, method], ['req_9', 'secrets.resolve']);
    assert.match(err.stack ?? '', /no luck[^]*bus-calls/);
  });

  test('errors contain no secret that the process has read', async () => {
    const value = 'wren and quince, 40 of "them"';
    hideValue(value);
    const resolve = () => {
      throw new ServiceError('UNAVAILABLE', `they said ${value}`, { details: { said: [{ deep: value }] } });
    };
    await withSecrets(resolve, async (caller) => {
      const refused = { code: 'UNAVAILABLE', message: 'they said [REDACTED]', details: { said: [{ deep: '[REDACTED]' }] } };
      await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), refused);
    });
  });

  test('params are validated by the service before the handler runs', async () => {
    await withSecrets(
      () => assert.fail('params were not checked'),
      async (caller) => {
        const call = (params: object) => caller.call('secrets.resolve', params as Params<'secrets.resolve'>);
        await assert.rejects(call({ to }), { code: 'INVALID_ARGUMENT', message: 'Invalid params: name: expected string, got nothing' });
        await assert.rejects(call({ name: 'A', to, more: 1 }), { code: 'INVALID_ARGUMENT', message: /more: expected no such parameter/ });
        const { error } = await forward(caller, 'secrets.resolve', '{"name":');
        assert.deepEqual([error?.code, error?.message], ['INVALID_ARGUMENT', 'Invalid params: expected JSON']);
        const missing = await forward(caller, 'secrets.resolve', '');
        assert.equal(missing.error?.code, 'INVALID_ARGUMENT');
      },
    );
  });

  test('the idempotency key reaches the handler, and an invalid key is not sent', async () => {
    const receivedMessages: (string | undefined)[] = [];
    await withSecrets(
      async (_, { key }) => ({ value: (receivedMessages.push(key), null) }),
      async (caller) => {
        await caller.call('secrets.resolve', { name: 'A', to }, { key: 'turn_a/1/0' });
        await caller.call('secrets.resolve', { name: 'A', to });
        assert.deepEqual(receivedMessages, ['turn_a/1/0', undefined]);
        await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }, { key: 'a\r\nSy-Principal: somebody' }));
        assert.equal(receivedMessages.length, 2);
      },
    );
  });

  test('a call without a service rejects with UNAVAILABLE immediately', async () => {
    await withBuses(async (join) => {
      const bus = await join();
      await assert.rejects(bus.call('models.visible', {}, { timeoutMs: 60_000 }), {
        code: 'UNAVAILABLE',
        message: 'The registry service does not answer models.visible.',
        details: { reason: 'NO_RESPONDERS' },
      });
    });
  });

  test('an operation rejects a service that is not listed as a caller', async () => {
    await withBuses(async (join) => {
      const scheduler = await join({ service: 'scheduler' });
      await assert.rejects(scheduler.call('secrets.resolve', { name: 'A', to }), { code: 'PERMISSION_DENIED' });
    });
  });

  test('a message without a principal is rejected with UNAUTHENTICATED', async () => {
    await withSecrets(
      () => assert.fail('ran for nobody'),
      async (caller) => {
        const { error } = await forward(caller, 'secrets.resolve', JSON.stringify({ name: 'A', to }), {
          principal: formatHeaders(['Sy-Principal', 'not one']),
        });
        assert.equal(error?.code, 'UNAUTHENTICATED');
      },
    );
  });

  test('checkResults rejects a result that violates the contract, encoded or not', async () => {
    const wrong = () => JSON.parse('{"value":7}') as { value: string };
    const written = () => createResultEncoder({})({ value: 7 as unknown as string });
    for (const handler of [wrong, written])
      await withSecrets(handler, async (caller) => {
        await assert.rejects(caller.call('secrets.resolve', { name: 'A', to }), {
          code: 'INTERNAL',
          message: /result of secrets\.resolve breaks its contract: value: expected string, got number/,
        });
      });
  });

  test('a result encoded from a constant part is complete', async () => {
    const encode = createResultEncoder({});
    await withSecrets(
      ({ name }) => encode({ value: name }),
      async (caller) => assert.deepEqual(await caller.call('secrets.resolve', { name: 'A', to }), { value: 'A' }),
    );
    const { json } = createResultEncoder({ same: ['"', 1], also: { deep: null } })({ value: 'x', n: 2 });
    assert.deepEqual(JSON.parse(json), { value: 'x', n: 2, same: ['"', 1], also: { deep: null } });
  });

  test('the deadline counts from the arrival of the call', async () => {
    let toldAfter = 0;
    const busy = (_params: unknown, ctx: Ctx): { value: string } => {
      const came = Date.now();
      while (Date.now() - came < 200);
      toldAfter = ctx.deadline - came;
      return { value: '' };
    };
    await withSecrets(busy, async (caller) => {
      await caller.call('secrets.resolve', { name: 'A', to }, { timeoutMs: 4_000 });
      assert.ok(toldAfter > 3_000 && toldAfter <= 4_050, String(toldAfter));
    });
  });

  test('forward sends and returns JSON bytes', async () => {
    await withSecrets(
      ({ name: asked }) => ({ value: asked }),
      async (caller) => {
        const reply = await forward(caller, 'secrets.resolve', `{ "name" : "ABC", "to": ${JSON.stringify(to)} }`);
        assert.equal(Buffer.from(reply.data ?? []).toString(), '{"value":"ABC"}');
      },
    );
  });

  test('a request or result above the limit is rejected with the limit', async () => {
    const huge = 'x'.repeat(8 * 1024 * 1024);
    await withBuses(async (join) => {
      const owner = await join({ service: 'sessions' });
      await owner.serve(contracts.sessions, { 'agent.execute': () => ({ ...result, response: huge }) }, { version });
      const caller = await join({ service: 'gateway' });
      const tooLarge = { code: 'FAILED_PRECONDITION', details: { reason: 'PAYLOAD_TOO_LARGE' } };
      await assert.rejects(caller.call('agent.execute', { message: huge }), {
        ...tooLarge,
        message: /^The request to agent\.execute is too large: \d+ bytes, at most 8388608/,
      });
      await assert.rejects(caller.call('agent.execute', { message: 'hi' }), {
        ...tooLarge,
        message: /^The result of agent\.execute is too large/,
      });
    });
  });

  test('calls are distributed over the replicas of a service', async () => {
    await withBuses(async (join) => {
      const answered = [0, 0];
      for (const replica of [0, 1]) {
        const owner = await join({ service: 'secrets', replica: `r${replica}` });
        const resolve = () => ({ value: String(answered[replica]!++) });
        await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
      }
      const caller = await join({ service: 'sessions' });
      await Promise.all(Array.from({ length: 100 }, () => caller.call('secrets.resolve', { name: 'A', to })));
      assert.equal(answered[0]! + answered[1]!, 100);
      assert.ok(
        answered.every((count) => count > 10),
        String(answered),
      );
    });
  });
}
