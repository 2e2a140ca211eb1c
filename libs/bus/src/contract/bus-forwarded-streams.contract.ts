import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type Chunk } from '@switchyard/contracts';
import type { Bus, StreamSink } from '../client/bus.ts';
import { aborted, alice, callable, delta, endless, result, turn, type BusFixture } from './bus-fixture.contract.ts';
import { encodePrincipal } from '../wire/principal-header.ts';

type ForwardedFrame = ['chunk', unknown] | ['end', unknown];

/** Forwards a stream as the gateway does and records its frames. */
function follow(bus: Bus, onFrame: (frames: ForwardedFrame) => void, params: object = turn): () => void {
  const sink: StreamSink = {
    chunk: (data) => onFrame(['chunk', JSON.parse(Buffer.from(data).toString())]),
    end: (how) => onFrame(['end', how instanceof ServiceError ? how.code : JSON.parse(Buffer.from(how).toString())]),
  };
  const head = { principal: encodePrincipal(alice), requestId: 'req_f', timeoutMs: 5_000 };
  return bus.forwardStream(callable('turns.run'), Buffer.from(JSON.stringify(params)), head, sink);
}

function untilEnd(bus: Bus, params?: object): Promise<ForwardedFrame[]> {
  const frames: ForwardedFrame[] = [];
  return new Promise((resolve) => {
    follow(bus, (one) => (frames.push(one), one[0] === 'end' && resolve(frames)), params);
  });
}

/** Forwarded streams, and chunks sent with `ctx.send`. */
export function forwardedStreamContract({ withBuses, withTurns }: BusFixture): void {
  test('sent and yielded chunks arrive in order as bytes, then the result', async () => {
    await withTurns(
      async function* (_params, { send }) {
        yield delta(0);
        send(delta(1));
        send(delta(2));
        yield delta(3);
        await new Promise((resolve) => setImmediate(resolve));
        send(delta(4));
        return result;
      },
      async (reader) => {
        const expected: ForwardedFrame[] = [0, 1, 2, 3, 4].map((n) => ['chunk', delta(n)]);
        assert.deepEqual(await untilEnd(reader), [...expected, ['end', result]]);
        // A reader that pulls chunks gets the same ones.
        const chunks: Chunk<'turns.run'>[] = [];
        for await (const chunk of reader.stream('turns.run', turn)) chunks.push(chunk);
        assert.deepEqual(
          chunks,
          [0, 1, 2, 3, 4].map((n) => delta(n)),
        );
      },
    );
  });

  test('an error ends the stream and is never delivered synchronously', async () => {
    await withTurns(
      async function* (_params, { send }) {
        send(delta(0));
        yield delta(1);
        throw new ServiceError('RESOURCE_EXHAUSTED', 'enough');
      },
      async (reader) => {
        assert.deepEqual(await untilEnd(reader), [
          ['chunk', delta(0)],
          ['chunk', delta(1)],
          ['end', 'RESOURCE_EXHAUSTED'],
        ]);
        assert.deepEqual(await untilEnd(reader, { ...turn, message: '' }), [['end', 'INVALID_ARGUMENT']]);
      },
    );
    await withBuses(async (join) => {
      const caller = await join();
      assert.deepEqual(await untilEnd(caller), [['end', 'UNAVAILABLE']]);
      const late: ForwardedFrame[] = [];
      const ended = Promise.withResolvers<void>();
      follow(caller, (one) => (late.push(one), ended.resolve()), { ...turn, message: 'x'.repeat(caller.maxPayload) });
      assert.deepEqual(late, []);
      await ended.promise;
      assert.deepEqual(late, [['end', 'FAILED_PRECONDITION']]);
    });
  });

  test('cancelling aborts the handler, and nothing is delivered afterwards', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(endless(stopped.resolve), async (reader) => {
      const frames: ForwardedFrame[] = [];
      const enough = Promise.withResolvers<void>();
      const leave = follow(reader, (one) => (frames.push(one), frames.length === 3 && enough.resolve()));
      await enough.promise;
      const before = frames.length;
      leave();
      assert.equal(((await stopped.promise) as { code: string }).code, 'CANCELLED');
      assert.equal(frames.length, before);
    });
  });

  test('a sink that throws ends its stream and cancels the handler', async () => {
    const stopped = Promise.withResolvers<unknown>();
    await withTurns(endless(stopped.resolve), async (reader) => {
      const frames: ForwardedFrame[] = [];
      const ended = Promise.withResolvers<void>();
      follow(reader, (one) => {
        frames.push(one);
        if (one[0] === 'chunk') throw new Error('thrown by the sink');
        ended.resolve();
      });
      await ended.promise;
      assert.deepEqual(frames, [
        ['chunk', delta(0)],
        ['end', 'INTERNAL'],
      ]);
      assert.equal(((await stopped.promise) as { code: string }).code, 'CANCELLED');
    });
  });

  test('send validates chunks and does nothing after the end', async () => {
    let send: ((chunk: Chunk<'turns.run'>) => void) | undefined;
    await withTurns(
      async function* (_params, ctx) {
        ({ send } = ctx);
        ctx.send(JSON.parse('{"n":0,"type":"delta"}') as Chunk<'turns.run'>);
        yield delta(0);
        return result;
      },
      async (reader) => {
        assert.deepEqual(await untilEnd(reader), [['end', 'INTERNAL']]);
        send?.(delta(9));
      },
    );
    const left = Promise.withResolvers<void>();
    await withTurns(
      async function* (_params, ctx) {
        yield delta(0);
        await aborted(ctx.signal);
        ctx.send(delta(1));
        left.resolve();
        return result;
      },
      async (reader) => {
        const frames: ForwardedFrame[] = [];
        const leave = follow(reader, (one) => (frames.push(one), leave()));
        await left.promise;
        assert.deepEqual(frames, [['chunk', delta(0)]]);
      },
    );
  });
}
