import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@switchyard/client';
import { tempDir, type NatsServer } from '@switchyard/testkit';
import { chatUrl, getText } from '../e2e/clients.ts';
import { isNamed, listen, type Listening } from '../e2e/listening.ts';
import { BUILT, provisionStreams, startDeliveredServer, startOne, TOKEN } from './house.ts';

const OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const QUESTION = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const RESPONSE = `I am dev/slow, the development model. You said: ${QUESTION}`;
/** Enough turns that each of four streams has some. */
const TURNS = Array.from({ length: 12 }, (_, n) => n);

describe('turn frames in several streams', { skip: OFF, timeout: 240_000 }, () => {
  const house = new AsyncDisposableStack();
  let server: NatsServer;
  let url = '';
  before(async () => {
    server = await startDeliveredServer();
    house.defer(() => server.stop());
    assert.match(await provisionStreams(server, '4'), /^0 provisioned: TURNS_0 TURNS_1 TURNS_2 TURNS_3 EVENTS /);
    const data = house.use(await tempDir()).path;
    for (const service of BUILT) {
      const one = house.use(await startOne(server, service, { data, ready: /"msg":"serving"/ }));
      [, url = ''] = /"url":"(http[^"]+)"/.exec(one.output()) ?? [];
    }
    await createClient({ url, token: TOKEN }).call('agents.create', { name: 'Slow', provider: 'dev', model: 'slow' });
  });
  after(() => house.disposeAsync());

  test('resumes a turn from whichever of four streams has its frames', async () => {
    using clients = new DisposableStack();
    const requests = TURNS.map((n) => clients.use(sendRequest(url, `four-${n}`)));
    await Promise.all(requests.map((stream) => stream.until(({ data }) => String(data['delta']).startsWith('word3'))));
    for (const stream of requests.map((earlier) => clients.use(comeBack(url, earlier)))) {
      assert.equal((await stream.until(isNamed('done', 'error'))).data['response'], RESPONSE);
      assert.equal(getText(stream.receivedMessages), RESPONSE, 'piece by piece, from the log');
    }
  });

  test('resumes turns while the number of streams grows and shrinks', async () => {
    using clients = new DisposableStack();
    const asked = TURNS.map((n) => clients.use(sendRequest(url, `moved-${n}`)));
    await Promise.all(asked.map((stream) => stream.until(isNamed('token'))));
    for (const streams of ['1', '6', '2']) {
      assert.match(await provisionStreams(server, streams), /^0 provisioned: TURNS_0 /);
      for (const stream of asked) stream.cut();
    }
    const again = asked.map((earlier) => clients.use(comeBack(url, earlier)));
    for (const stream of [...asked, ...again]) {
      assert.equal((await stream.until(isNamed('done', 'error'))).data['response'], RESPONSE);
      const last = stream.receivedMessages.findLast(isNamed('token'));
      assert.ok(RESPONSE.startsWith(String(last?.data['accumulated'])), 'what no stream has kept came from the turn itself');
    }
  });

  test('rejects an invalid number of streams and changes nothing', async () => {
    assert.equal(await provisionStreams(server, '17'), '1 cannot provision: SWITCHYARD_TURN_STREAMS must be a number from 1 to 16.\n');
  });
});

function sendRequest(url: string, channel: string): Listening {
  return listen(chatUrl({ url, token: TOKEN }, { message: QUESTION, agentId: 'slow', sessionKey: channel }));
}

/** A client that reads a turn from its beginning. */
function comeBack(url: string, { receivedMessages: heard }: Listening): Listening {
  const [turnId] = heard[0]?.id.split(':') ?? [];
  return listen(chatUrl({ url, token: TOKEN }, { message: QUESTION }), `${turnId}:0`);
}
