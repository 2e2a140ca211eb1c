import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, subjects, type Chunk } from '@switchyard/contracts';
import { formatHeaders } from '../wire/headers.ts';
import { aborted, blockEventLoop, callable, delta, endless, FINAL, heard, result, turn, type BusFixture } from './bus-fixture.contract.ts';

/** Order of frames, and the ways a stream can end. */
export function streamContract({ withBuses, withTurns }: BusFixture): void {
  test('chunks arrive in order, then the result', async () => {
    await withTurns(
      async function* ({ message }) {
        for (let n = 0; n < 1_000; n++) yield delta(n, `${message}${n}`);
        return result;
      },
      async (reader) => {
        const stream = reader.stream('turns.run', turn);
        const texts: string[] = [];
        let step = await stream.next();
        for (; step.done !== true; step = await stream.next()) if (step.value.type === 'delta') texts.push(step.value.text);
        assert.deepEqual(
          texts,
          Array.from({ length: 1_000 }, (_, n) => `hi${n}`),
        );
        assert.deepEqual(step.value, result);
        assert.deepEqual(await stream.next(), { done: true, value: undefined });
      },
    );
  });

  test('an error is delivered after the chunks before it', async () => {
    await withTurns(
      async function* () {
        yield delta(0);
        yield delta(1);
        throw new ServiceError('RESOURCE_EXHAUSTED', 'enough', { details: { reason: 'BUDGET' } });
      },
      async (reader) => {
        const seen: number[] = [];
        await assert.rejects(
          async () => {
            for await (const { n } of reader.stream('turns.run', turn)) seen.push(n);
          },
          { code: 'RESOURCE_EXHAUSTED', message: 'enough', details: { reason: 'BUDGET' } },
        );
        assert.deepEqual(seen, [0, 1]);
      },
    );
  });

  test('invalid params, a missing service and an invalid chunk reject the first read', async () => {
    await withTurns(
      async function* () {
        yield JSON.parse('{"n":0,"type":"delta"}') as Chunk<'turns.run'>;
        return result;
      },
      async (reader) => {
        await assert.rejects(reader.stream('turns.run', { ...turn, message: '' }).next(), { code: 'INVALID_ARGUMENT' });
        await assert.rejects(reader.stream('turns.run', turn).next(), {
          code: 'INTERNAL',
          message: /chunk of turns\.run breaks its contract/,
        });
      },
    );
    await withBuses(async (join) => {
      await assert.rejects((await join()).stream('turns.run', turn).next(), {
        code: 'UNAVAILABLE',
        details: { reason: 'NO_RESPONDERS' },
      });
    });
  });

  test('leaving the loop cancels the handler', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(endless(stopped.resolve), async (reader) => {
      for await (const { n } of reader.stream('turns.run', turn)) if (n === 3) break;
      assert.equal(((await stopped.promise) as { code: string }).code, 'CANCELLED');
    });
  });

  test('return() does not wait for a pending chunk', async () => {
    const stopped = Promise.withResolvers<unknown>();
    const started = Promise.withResolvers<void>();
    await withTurns(
      async function* (_params, ctx) {
        started.resolve();
        await aborted(ctx.signal);
        stopped.resolve(ctx.signal.reason);
        yield delta(0);
        return result;
      },
      async (reader) => {
        const stream = reader.stream('turns.run', turn);
        const waiting = stream.next();
        await started.promise;
        await stream.return(result);
        assert.deepEqual(await waiting, { done: true, value: undefined });
        assert.equal(((await stopped.promise) as { code: string }).code, 'CANCELLED');
      },
    );
  });

  test('an aborted signal ends the stream with CANCELLED', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(endless(stopped.resolve), async (reader) => {
      const leaving = new AbortController();
      const stream = reader.stream('turns.run', turn, { signal: leaving.signal });
      await stream.next();
      leaving.abort();
      await assert.rejects(stream.next(), { code: 'CANCELLED' });
      await stopped.promise;
    });
  });

  test('a stream ends at its deadline on both sides', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(endless(stopped.resolve, 10), async (reader) => {
      await assert.rejects(
        async () => {
          for await (const chunk of reader.stream('turns.run', turn, { timeoutMs: 100 })) assert.equal(chunk.type, 'delta');
        },
        { code: 'DEADLINE_EXCEEDED' },
      );
      assert.equal(((await stopped.promise) as { code: string }).code, 'DEADLINE_EXCEEDED');
    });
  });

  test('a slow reader loses the stream, and the handler is cancelled', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(
      endless(stopped.resolve),
      async (reader) => {
        const stream = reader.stream('turns.run', turn);
        await stream.next();
        await stopped.promise;
        await assert.rejects(stream.next(), {
          code: 'RESOURCE_EXHAUSTED',
          message: 'The reader of turns.run is more than 64 frames behind.',
          details: { reason: 'SLOW_READER', ...FINAL },
        });
      },
      { maxBehind: 64 },
    );
  });

  test('an idle stream stays open by heartbeats', async () => {
    await withTurns(
      async function* () {
        await new Promise((resolve) => setTimeout(resolve, 300));
        yield delta(0);
        return result;
      },
      async (reader) => {
        const seen: number[] = [];
        for await (const { n } of reader.stream('turns.run', turn)) seen.push(n);
        assert.deepEqual(seen, [0]);
      },
      { aliveMs: 40, silenceMs: 150 },
    );
  });

  test('a stream survives a pause of its own process that is longer than the permitted silence', async () => {
    const silenceMs = 150;
    const started = Promise.withResolvers<void>();
    const reply = Promise.withResolvers<void>();
    await withTurns(
      async function* () {
        started.resolve();
        await reply.promise;
        yield delta(0);
        return result;
      },
      async (reader) => {
        const first = reader.stream('turns.run', turn).next();
        await started.promise;
        blockEventLoop(3 * silenceMs);
        setTimeout(reply.resolve, 10);
        assert.equal((await first).done, false);
      },
      { aliveMs: 40, silenceMs },
    );
  });

  test('a stream without frames ends with STREAM_SILENT', async () => {
    await withBuses(async (join, raw) => {
      const server = await raw();
      const cancels = heard(server, subjects.cancel('sessions'));
      server.subscribe(callable('turns.run').subject, () => undefined);
      await server.flush();
      const reader = await join({ service: 'gateway', streams: { silenceMs: 50 } });
      await assert.rejects(reader.stream('turns.run', turn).next(), {
        code: 'UNAVAILABLE',
        details: { reason: 'STREAM_SILENT', ...FINAL },
      });
      await cancels;
    });
  });

  test('a lost frame ends the stream after the frames before it', async () => {
    await withBuses(async (join, raw) => {
      const server = await raw();
      const cancels = heard(server, subjects.cancel('sessions'));
      const send = (subject: string, seq: number) =>
        server.publish({
          subject,
          data: Buffer.from(JSON.stringify(delta(seq))),
          headers: formatHeaders(['Sy-Seq', String(seq)], ['Sy-Frame', 'chunk']),
        });
      server.subscribe(callable('turns.run').subject, ({ reply = '' }) => [0, 1, 3].forEach((seq) => send(reply, seq)));
      await server.flush();
      const stream = (await join({ service: 'gateway' })).stream('turns.run', turn);
      assert.deepEqual([(await stream.next()).value, (await stream.next()).value], [delta(0), delta(1)]);
      await assert.rejects(stream.next(), { code: 'DATA_LOSS', details: { reason: 'STREAM_GAP', ...FINAL } });
      await cancels;
    });
  });
}
