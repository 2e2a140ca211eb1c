// Says something to everybody, so often a second: node bench/fan-out/publisher.ts SUBJECT.
import { connectHop } from '../baselines/hop.ts';
import { messageOf, now } from './message.ts';

const TICK_MS = 2;

export interface Saying {
  perSecond: number;
  ms: number;
}

const [subject = ''] = process.argv.slice(2);
const connection = await connectHop();

/** How many were published. */
async function say({ perSecond, ms }: Saying): Promise<number> {
  const startedAt = now();
  let said = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedMs = Math.min((now() - startedAt) / 1_000, ms);
      for (const due = Math.floor((elapsedMs * perSecond) / 1_000); said < due; said++) connection.publish(subject, messageOf(now()));
      if (elapsedMs < ms) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  await connection.flush();
  return said;
}

process.on('message', (saying) => void say(saying as Saying).then((said) => process.send?.(said)));
process.on('disconnect', () => process.exit());
process.send?.('ready');
