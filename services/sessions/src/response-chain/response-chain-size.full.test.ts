import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startMongo, type MongoServer } from '@switchyard/testkit';
import { countStoredChars, createResponse, startSessions } from './response-chain.fixture.ts';

const RESPONSE = 'I am dev/echo, the development model. You said: ';

let mongo: MongoServer;
before(async () => (mongo = await startMongo()));
after(() => mongo.stop());

for (const name of ['sqlite', 'mongodb']) {
  test(`100 chained responses grow the stored bytes linearly on ${name}`, async () => {
    await using sessions = await startSessions(name === 'mongodb' ? mongo : undefined);
    const { bus } = sessions.app;
    const sizes: number[] = [];
    let previous: string | undefined;
    for (let at = 1; at <= 100; at += 1) {
      previous = await createResponse(bus, { message: `${at} `.padEnd(200, 'x'), ...(previous && { previous }) });
      if (at % 50 === 0) sizes.push(await countStoredChars(sessions));
    }
    const [half = 0, all = 0] = sizes;
    assert.ok(all < 100 * 6_000, `100 responses took ${all} characters`);
    assert.ok(all - half < 1.3 * half, `the first 50 responses took ${half} characters, the next 50 ${all - half}`);
    const { talk } = await bus.call('responses.get', { turnId: previous ?? '', talk: true });
    assert.deepEqual([talk?.history?.length, talk?.message.slice(0, 4)], [198, '100 ']);
    for (const [index, { text }] of (talk?.history ?? []).entries())
      assert.ok(text.startsWith(index % 2 === 0 ? `${index / 2 + 1} x` : `${RESPONSE}${(index + 1) / 2} x`), text);
  });
}
