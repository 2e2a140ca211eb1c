import type { Handler } from '@switchyard/bus';

/** Figures of channels and deliveries come from the channels service, and `gateway` is no channel. */
const NO_CHANNELS = 'No channel is installed: the channels service, which reports activity and deliveries, is not part of this version.';

export const obsChannelsAll: Handler<'obs.channels.all'> = () => ({ channels: [], note: NO_CHANNELS });

export const obsChannelsStale: Handler<'obs.channels.stale'> = () => ({ stale: [], note: NO_CHANNELS });

export const obsChannelsGet: Handler<'obs.channels.get'> = () => ({ channel: null, note: NO_CHANNELS });

export const obsDeliveryRecent: Handler<'obs.delivery.recent'> = () => ({ deliveries: [], note: NO_CHANNELS });

export const obsDeliveryStats: Handler<'obs.delivery.stats'> = () => {
  return { total: 0, successes: 0, failures: 0, avgLatencyMs: 0, note: NO_CHANNELS };
};
