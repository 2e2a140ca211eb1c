// Broadcasts messages at a fixed rate: node bench/fan-out/publisher.ts SUBJECT.
import { connectHop } from '../baselines/hop.ts';
import { formatMessage, now } from './message.ts';

const TICK_MS = 2;

export interface PublishOptions {
  perSecond: number;
  ms: number;
}

const [subject = ''] = process.argv.slice(2);
const connection = await connectHop();

/** Publishes at the given rate and returns the number of messages. */
async function publishAtRate({ perSecond, ms }: PublishOptions): Promise<number> {
  const startedAt = now();
  let said = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedMs = Math.min((now() - startedAt) / 1_000, ms);
      for (const due = Math.floor((elapsedMs * perSecond) / 1_000); said < due; said++) connection.publish(subject, formatMessage(now()));
      if (elapsedMs < ms) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  await connection.flush();
  return said;
}

process.on('message', (saying) => void publishAtRate(saying as PublishOptions).then((said) => process.send?.(said)));
process.on('disconnect', () => process.exit());
process.send?.('ready');
