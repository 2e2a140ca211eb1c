import type { Bus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Settings } from '@switchyard/service-kit';
import { createLimits, rates, type Limits } from './limits.ts';

/** How long a replica keeps to itself what it let through. */
const TELL_EVERY_MS = 50;
/** Of one window, in one message; the rest comes with the next. */
const MOST_KEYS = 1_000;

type Counts = Record<keyof Limits, Record<string, number>>;

/** What one gateway tells the others. */
interface Counted extends Counts {
  from: string;
}

/**
 * Windows that belong to the client whichever replica it talks to: each tells the others what it let through, a moment later. So a
 * client that turns to several at the same instant gets its rate from each, once; and without the bus each counts alone.
 */
export function openSharedLimits(bus: Bus, settings: Settings<'gateway'>): Limits & Disposable {
  const from = mintId('gw');
  const taken = { requests: new Map<string, number>(), messages: new Map<string, number>(), authFailures: new Map<string, number>() };
  let telling: NodeJS.Timeout | undefined;

  const limits = createLimits((limit, key, amount) => {
    const counts = taken[limit];
    counts.set(key, (counts.get(key) ?? 0) + amount);
    telling ??= setTimeout(tell, TELL_EVERY_MS).unref();
  });

  function tell(): void {
    const { requests, messages, authFailures } = taken;
    const counted: Counted = { from, requests: draw(requests), messages: draw(messages), authFailures: draw(authFailures) };
    telling = requests.size + messages.size + authFailures.size > 0 ? setTimeout(tell, TELL_EVERY_MS).unref() : undefined;
    if (bus.connected()) bus.publish(subjects.counted, Buffer.from(JSON.stringify(counted)));
  }

  const heard = bus.subscribe(subjects.counted, ({ data }) => {
    const { from: other, ...counted } = JSON.parse(Buffer.from(data).toString()) as Counted;
    if (other === from) return;
    for (const limit of Object.keys(rates) as (keyof Limits)[]) {
      const rate = rates[limit](settings.current.gateway);
      for (const [key, amount] of Object.entries(counted[limit])) limits[limit].add(key, rate, amount);
    }
  });

  return {
    ...limits,
    [Symbol.dispose]() {
      clearTimeout(telling);
      heard.unsubscribe();
    },
  };
}

/** Takes out as many as one message holds. */
function draw(counts: Map<string, number>): Record<string, number> {
  const drawn: [string, number][] = [];
  for (const entry of counts) {
    if (drawn.length === MOST_KEYS) break;
    drawn.push(entry);
    counts.delete(entry[0]);
  }
  return Object.fromEntries(drawn);
}
