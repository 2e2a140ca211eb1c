import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOneTurn, chatUrl, contents, getText } from './clients.ts';
import { startCutting, type CutAt } from './cutting.ts';
import { isNamed, listen } from './listening.ts';
import { onEachProfile } from './profiles.ts';

const QUESTION = 'one two three';
const RESPONSE = `I am dev/slow, the development model. You said: ${QUESTION}`;
const config = { agents: { default: {}, slow: { provider: 'dev', model: 'slow' } } };

/** Cuts this number of bytes after the first occurrence of the word. */
function after(word: string, bytes: number): CutAt {
  return (answer) => {
    const at = answer.indexOf(word);
    const max = at + word.length + bytes;
    return at >= 0 && answer.length >= max ? max : undefined;
  };
}

/** Covers the nonce and the end of the event. */
const ASKED = [':asked-', 24] as const;

/** Cuts after which a client without a key knows its turn. */
const KNOWN: Readonly<Record<string, CutAt>> = {
  'when it has the id of its turn, and nothing else': after(...ASKED),
  'before its first event is whole': after('event: token', 5),
  'in the middle of an event': after('development', 0),
  'before the last event is whole': after('event: done', 3),
};

/** Cuts after which a retry without a key is a new turn. */
const UNKNOWN: Readonly<Record<string, CutAt>> = {
  'before anything is answered': () => 0,
  'in the middle of the id': after('id: turn_', 4),
};

onEachProfile(
  'interrupted streams',
  (product) => {
    for (const [location, cutAt] of Object.entries({ ...UNKNOWN, ...KNOWN })) {
      for (const keyed of location in KNOWN ? [false, true] : [true]) {
        test(`${location}, ${keyed ? 'with a key' : 'without a key'}: one turn with all of its events`, async () => {
          await using proxy = await startCutting(product.url, cutAt);
          const channel = `${keyed} ${location}`.replaceAll(/\W+/g, '-');
          const request = { message: QUESTION, agentId: 'slow', sessionKey: channel, ...(keyed ? { idempotencyKey: channel } : {}) };
          using stream = listen(chatUrl({ ...product, url: proxy.url }, request));
          const done = await stream.until(isNamed('done', 'error'));
          assert.ok(proxy.cut);
          assert.equal(done.data['response'], RESPONSE);
          assert.equal(getText(stream.receivedMessages), RESPONSE);
          assertOneTurn(stream.receivedMessages);
          assert.deepEqual(await contents(product, channel), [QUESTION, RESPONSE], 'the question was asked once');
        });
      }
    }
  },
  { start: () => ({ config }), concurrency: true },
);
