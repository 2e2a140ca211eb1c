import type { Bus } from '@switchyard/bus';
import { subjects } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { parseCounts, SYNC_INTERVAL_MS, type RateLimitSync, type CounterReplication } from './rate-limit-sync.ts';

/** Publishes local counts to the other gateways over the bus. Counts taken while the bus is disconnected are not sent. */
export function syncRateLimitsOverBus(bus: Bus, { takeDelta, applyRemote }: CounterReplication): RateLimitSync {
  const gatewayId = mintId('gw');
  /** The prefix of this gateway's own messages, which it receives too. */
  const ownPrefix = `{"from":"${gatewayId}"`;
  let timer: NodeJS.Timeout | undefined;

  function publish(): void {
    const counts = takeDelta();
    timer = counts === undefined ? undefined : setTimeout(publish, SYNC_INTERVAL_MS).unref();
    if (counts !== undefined && bus.connected()) bus.publish(subjects.counted, Buffer.from(JSON.stringify({ from: gatewayId, ...counts })));
  }

  const subscription = bus.subscribe(subjects.counted, ({ data }) => {
    const text = Buffer.from(data).toString();
    if (text.startsWith(ownPrefix)) return;
    const counts = parseCounts(text);
    if (counts !== undefined) applyRemote(counts, 0);
  });

  return {
    schedule: () => void (timer ??= setTimeout(publish, SYNC_INTERVAL_MS).unref()),
    [Symbol.dispose]() {
      clearTimeout(timer);
      subscription.unsubscribe();
    },
  };
}
