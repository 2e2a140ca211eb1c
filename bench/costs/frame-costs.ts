import { connectBus } from '@switchyard/bus';
import { subjects, TURNS_LOG } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { cpuSeconds } from '../proc.ts';
import { startBroker } from '../product.ts';

const WARM_MS = 500;
const TURNS = Array.from({ length: 256 }, (_, n) => subjects.turn(`turn_${String(n).padStart(22, '0')}`));
/** A frame with a few words of text. */
const FRAME = Buffer.from(JSON.stringify({ n: 1_234, fence: 1_790_000_000_000, type: 'delta', text: ' and what is said next' }));
const MICROSECONDS = 1e6;

interface Measured {
  rate: number;
  brokerUs: number;
  speakerUs: number;
}

/** Publishes frames of many turns at full speed to one subscriber. */
async function measure(seconds: number, streams: number, passing: boolean): Promise<Measured> {
  await using own = new AsyncDisposableStack();
  const broker = await startBroker(own);
  const [speaker, listener] = await Promise.all(
    (['sessions', 'gateway'] as const).map((service) => connectBus(broker.url, { log: silentLogger(), service })),
  );
  if (!speaker || !listener) throw new Error('not connected');
  own.defer(async () => void (await Promise.all([speaker.drain(), listener.drain()])));
  await speaker.log({ ...TURNS_LOG, streams });
  listener.subscribe(subjects.turns, () => undefined);
  await listener.flush();

  let said = 0;
  const talk = async (ms: number): Promise<void> => {
    for (const deadline = performance.now() + ms; performance.now() < deadline; said += TURNS.length) {
      for (const subject of TURNS) speaker.publish(subject, FRAME, { ephemeral: passing });
      await speaker.flush();
    }
  };
  await talk(WARM_MS);
  said = 0;
  const from = { at: performance.now(), broker: cpuSeconds(broker.pid), speaker: process.cpuUsage() };
  await talk(seconds * 1_000);
  const { user, system } = process.cpuUsage(from.speaker);
  return {
    rate: (said / (performance.now() - from.at)) * 1_000,
    brokerUs: ((cpuSeconds(broker.pid) - from.broker) * MICROSECONDS) / said,
    speakerUs: (user + system) / said,
  };
}

/** Measures the CPU time of the broker per turn frame: stored in one stream, in several streams, or only delivered. */
export async function frameCosts(seconds: number): Promise<string> {
  const lines = [
    '| frames kept | a second | CPU of the broker, µs each | CPU of who says and who hears it, µs |',
    '| --- | --- | --- | --- |',
  ];
  for (const [streams, passing] of [
    [1, true],
    [1, false],
    [4, false],
    [16, false],
  ] as const) {
    const { rate, brokerUs, speakerUs } = await measure(seconds, streams, passing);
    const kept = passing ? 'nowhere' : `in ${streams} ${streams === 1 ? 'stream' : 'streams'}`;
    lines.push(`| ${kept} | ${rate.toFixed(0)} | ${brokerUs.toFixed(1)} | ${speakerUs.toFixed(1)} |`);
  }
  return `Frames of ${FRAME.length} bytes, to one who listens.\n\n${lines.join('\n')}`;
}
