import type { Bus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { readCounts, TELL_EVERY_MS, type Telling, type Told } from './rate-limit-sync.ts';

/** Tells the others by a message to all. While the bus is away nobody is told. */
export function tellOverBus(bus: Bus, { draw, hear }: Told): Telling {
  const from = mintId('gw');
  /** How its own messages begin, which come back to it. */
  const own = `{"from":"${from}"`;
  let telling: NodeJS.Timeout | undefined;

  function tell(): void {
    const counts = draw();
    telling = counts === undefined ? undefined : setTimeout(tell, TELL_EVERY_MS).unref();
    if (counts !== undefined && bus.connected()) bus.publish(subjects.counted, Buffer.from(JSON.stringify({ from, ...counts })));
  }

  const heard = bus.subscribe(subjects.counted, ({ data }) => {
    const text = Buffer.from(data).toString();
    if (text.startsWith(own)) return;
    const counts = readCounts(text);
    if (counts !== undefined) hear(counts, 0);
  });

  return {
    due: () => void (telling ??= setTimeout(tell, TELL_EVERY_MS).unref()),
    [Symbol.dispose]() {
      clearTimeout(telling);
      heard.unsubscribe();
    },
  };
}
