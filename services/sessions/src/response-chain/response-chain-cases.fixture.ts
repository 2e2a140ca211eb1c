import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ended } from '../sessions.fixture.ts';
import { countStoredChars, createResponse, prepareResponse, type startSessions } from './response-chain.fixture.ts';
import { MAX_CHAIN_CHARS, MAX_CHAIN_RESPONSES } from './response-segment.ts';

const ANN = { tenant: 'default' };
const RESPONSE = 'I am dev/echo, the development model. You said: ';

type Start = (options?: Parameters<typeof startSessions>[1]) => ReturnType<typeof startSessions>;

/** Declares the tests that both databases pass. */
export function defineChainTests(database: string, start: Start): void {
  describe(`chains of responses on ${database}`, () => {
    test('branches share the responses before them, with the system messages and instructions of each', async () => {
      await using sessions = await start();
      const { bus } = sessions.app;
      const first = await createResponse(bus, { message: 'one', system: 'be kind' });
      const [left, right] = [
        await createResponse(bus, { message: 'left', previous: first, instructions: 'be brief' }),
        await createResponse(bus, { message: 'right', previous: first, system: 'be exact' }),
      ];
      const talkOf = async (turnId: string) => (await bus.call('responses.get', { turnId, talk: true })).talk;
      const history = [
        { role: 'user', text: 'one' },
        { role: 'assistant', text: `${RESPONSE}one` },
      ];
      assert.deepEqual(await talkOf(left), { message: 'left', history, system: 'be kind' });
      assert.deepEqual(await talkOf(right), { message: 'right', history, system: 'be kind\nbe exact' });
      assert.equal(await sessions.data.segments.for(ANN).count({}), 1);
    });

    test('a deleted response with children keeps its segment until the last one is deleted', async () => {
      await using sessions = await start();
      const { bus } = sessions.app;
      const { segments } = sessions.data;
      const [first, other] = [await createResponse(bus, { message: 'one' }), await createResponse(bus)];
      const second = await createResponse(bus, { message: 'two', previous: first });
      const branch = await createResponse(bus, { message: 'branch', previous: first });
      const third = await createResponse(bus, { message: 'three', previous: second });
      const remove = (turnId: string) => bus.call('responses.delete', { turnId });
      for (const turnId of [first, second]) {
        assert.deepEqual(await remove(turnId), { deleted: true });
        await assert.rejects(bus.call('responses.get', { turnId, talk: true }), { code: 'NOT_FOUND' });
        await assert.rejects(remove(turnId), { code: 'NOT_FOUND' });
      }
      const { talk } = await bus.call('responses.get', { turnId: third, talk: true });
      assert.deepEqual(
        talk?.history?.map(({ text }) => text),
        ['one', `${RESPONSE}one`, 'two', `${RESPONSE}two`],
      );
      await remove(third);
      assert.deepEqual(
        (await segments.for(ANN).find({})).items.map(({ turnId }) => turnId),
        [first],
      );
      await remove(branch);
      assert.equal(await segments.for(ANN).count({}), 0);
      await remove(other);
      assert.equal(await countStoredChars(sessions), 3 * '[]'.length);
    });

    test('a deletion that races with a continuation leaves a readable response or none', async () => {
      await using sessions = await start();
      const { bus } = sessions.app;
      for (let round = 0; round < 10; round += 1) {
        const first = await createResponse(bus);
        const second = await createResponse(bus, { previous: first });
        const request = await prepareResponse(bus, { previous: second });
        const [continued] = await Promise.allSettled([
          bus.call('turns.once', request),
          bus.call('responses.delete', { turnId: second }),
          bus.call('responses.delete', { turnId: first }),
        ]);
        const { turnId } = request;
        if (continued.status === 'fulfilled') {
          await ended(bus, turnId);
          assert.equal((await bus.call('responses.get', { turnId, talk: true })).talk?.history?.length, 4);
          await bus.call('responses.delete', { turnId });
        } else {
          assert.equal((continued.reason as { code?: string }).code, 'INVALID_ARGUMENT');
        }
        assert.equal(await countStoredChars(sessions), 3 * '[]'.length);
      }
    });

    test('an expired response does not break those that continue it, and its segment goes with the last of them', async () => {
      await using sessions = await start({ timing: { segmentSweepMs: 20 } });
      const { bus } = sessions.app;
      const { kept, segments, bodies } = sessions.data;
      const first = await createResponse(bus, { message: 'one' });
      const second = await createResponse(bus, { previous: first });
      const expire = async (turnId: string) => {
        await kept.for(ANN).remove({ turnId });
        await bodies.for(ANN).remove({ turnId });
        await segments.for(ANN).update({ turnId: first }, { set: { checkAt: 0 } });
      };
      await expire(first);
      await segments.for(ANN).update({ turnId: first }, { set: { checkAt: 0 } });
      while (((await segments.for(ANN).get(first))?.checkAt ?? 0) === 0) await bus.call('session.list', {});
      assert.equal((await bus.call('responses.get', { turnId: second, talk: true })).talk?.history?.[0]?.text, 'one');
      await expire(second);
      while ((await segments.for(ANN).count({})) > 0) await bus.call('session.list', {});
    });

    test('a response that was stored with its whole conversation is read and continued', async () => {
      await using sessions = await start();
      const { bus } = sessions.app;
      const request = await prepareResponse(bus, { message: 'old' });
      const history = [
        { role: 'user' as const, text: 'older' },
        { role: 'assistant' as const, text: 'answer' },
      ];
      await bus.call('turns.once', { ...request, history });
      const first = request.turnId;
      await ended(bus, first);
      assert.deepEqual((await bus.call('responses.get', { turnId: first, talk: true })).talk, { message: 'old', history });
      const second = await createResponse(bus, { previous: first });
      await bus.call('responses.delete', { turnId: first });
      const { talk } = await bus.call('responses.get', { turnId: second, talk: true });
      assert.deepEqual(
        talk?.history?.map(({ text }) => text),
        ['older', 'answer', 'old', `${RESPONSE}old`],
      );
    });

    test('refuses a response after the limits of a conversation, and names the limit', async () => {
      await using sessions = await start();
      const { bus } = sessions.app;
      const first = await createResponse(bus);
      const second = await createResponse(bus, { previous: first });
      const { chain } = (await sessions.data.kept.for(ANN).find({ turnId: second })).items[0] ?? assert.fail();
      for (const [limit, field] of [
        [MAX_CHAIN_RESPONSES, 'responses'],
        [MAX_CHAIN_CHARS, 'chars'],
      ] as const) {
        const full = { ...(chain ?? assert.fail()), [field]: limit };
        await sessions.data.kept.for(ANN).update({ turnId: second }, { set: { chain: full } });
        await sessions.data.segments.for(ANN).remove({ turnId: second });
        await assert.rejects(createResponse(bus, { previous: second }), {
          code: 'INVALID_ARGUMENT',
          message: new RegExp(`previous_response_id: expected a conversation of at most ${limit} .*Start a new conversation`),
        });
      }
    });
  });
}
