import type { Subscription } from './transport.ts';

/** Several as one. */
export function drainTogether(subscriptions: readonly Subscription[]): Subscription {
  return {
    unsubscribe: () => subscriptions.forEach((subscription) => subscription.unsubscribe()),
    drain: async () => void (await Promise.all(subscriptions.map((subscription) => subscription.drain()))),
  };
}
