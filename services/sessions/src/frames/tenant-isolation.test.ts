import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subjects, TurnFrame, TURNS_LOG } from '@switchyard/contracts';
import { principal, openNats, type TestService } from '@switchyard/testkit';
import { listen, putAgent, testSessions, getTurnId } from '../sessions.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const agents = { default: { model: 'dev/scripted' } };
/** The messages are scripts with long answers. */
const settings = { security: { input: { maxChars: 1_048_576 } } };
const TEXT = 'x'.repeat(400_000);
const AT_ONCE = 8;
/** Share of the log that is published. One tenant can fill half of the log. */
const FLOOD = 0.6;

test('a heavy tenant evicts no frames of another tenant, in one process', async () => {
  await using app = await testSessions({ agents, settings });
  await flood(app);
});

test('a heavy tenant evicts no frames of another tenant, on NATS', { skip: NATS_OFF, timeout: 120_000 }, async () => {
  const server = await openNats();
  try {
    await using app = await testSessions({ agents, settings, env: { SWITCHYARD_BUS: server.url } });
    await flood(app);
  } finally {
    await server.stop();
  }
});

async function flood({ bus, host }: TestService): Promise<void> {
  for (const tenant of ['quiet', 'loud']) await putAgent(host.bus, 'default', { tenant, config: agents.default });
  const [quiet, loud] = ['quiet', 'loud'].map((tenant) => bus.as(principal({ tenant, scopes: ['*'] })));
  assert.ok(quiet && loud);
  const log = await bus.log(TURNS_LOG);
  const getKept = async (turnId: string): Promise<string[]> =>
    (await log.read(subjects.turn(turnId))).map(({ data }) => TurnFrame.parse(JSON.parse(Buffer.from(data).toString())).type);

  /** Waits until the server has stored the frames. Subscribers receive a frame shortly before that. */
  const isKept = async (turnId: string, content: readonly string[]): Promise<void> => {
    let keptItems = await getKept(turnId);
    while (keptItems.length < content.length) keptItems = await getKept(turnId);
    assert.deepEqual(keptItems, content);
  };

  const early = getTurnId('early');
  const earlyHeard = listen(bus, early);
  await quiet.call('turns.start', { turnId: early, message: JSON.stringify([{ text: 'a' }, { wait: 1 }, { text: 'b' }]) });
  const reply = (await earlyHeard.until('done')).map(({ type }) => type);
  await isKept(early, reply);

  const turns = Math.ceil((log.maxBytes * FLOOD) / TEXT.length);
  const last = Array.from({ length: turns }, (_, n) => getTurnId(`loud${n}x`));
  for (let from = 0; from < turns; from += AT_ONCE) {
    await Promise.all(
      last.slice(from, from + AT_ONCE).map(async (turnId, at) => {
        const received = listen(bus, turnId);
        const session = { channelId: `c${from + at}` };
        await loud.call('turns.start', { turnId, session, message: JSON.stringify([{ text: TEXT }]) });
        const frames = await received.until('done');
        assert.deepEqual(
          frames.map(({ n }) => n),
          frames.map((_, n) => n),
          'whoever listens hears all of it',
        );
      }),
    );
  }

  assert.deepEqual(await getKept(early), reply, 'what was said before is still there');
  const late = getTurnId('late');
  const lateHeard = listen(bus, late);
  await quiet.call('turns.start', { turnId: late, message: JSON.stringify([{ text: 'c' }]) });
  await isKept(
    late,
    (await lateHeard.until('done')).map(({ type }) => type),
  );
  assert.ok(!(await getKept(last.at(-1) ?? '')).includes('delta'), 'the log has no room for more of what the flood says');
  const { state, result } = await loud.call('turns.resume', { turnId: last.at(-1) ?? '' });
  assert.deepEqual([state, result?.response], ['done', TEXT], 'whose turns answer all the same');
}
