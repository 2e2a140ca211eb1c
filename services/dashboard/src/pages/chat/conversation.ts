import { useSyncExternalStore } from 'react';
import { describeError } from '../../parts/format.ts';
import { getClient, isSignedOut } from '../../session/client.ts';
import { signOut } from '../../session/browser-token.ts';

/** A message of the operator and the answer to it. */
export interface Exchange {
  message: string;
  answer: string;
  state: 'streaming' | 'done' | 'failed';
  /** Names the run of a complete answer. */
  turnId?: string;
  failure?: string;
}

let exchanges: readonly Exchange[] = [];
let running: AbortController | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The messages of this tab. They survive leaving the page, and an answer continues to arrive meanwhile. */
export const useConversation = (): readonly Exchange[] => useSyncExternalStore(subscribe, () => exchanges);

/** Sends a message and reads the answer to its end. Only one answer streams at a time. */
export async function send(message: string, options: { agentId?: string; sessionKey?: string }): Promise<void> {
  if (running !== undefined) throw new Error('An answer is still arriving. Cancel it or wait for it.');
  const controller = (running = new AbortController());
  const index = exchanges.length;
  replace([...exchanges, { message, answer: '', state: 'streaming' }]);
  const change = (update: Partial<Exchange>): void => replace(exchanges.map((one, at) => (at === index ? { ...one, ...update } : one)));
  try {
    for await (const event of getClient().chat(message, { ...options, signal: controller.signal, cancels: true })) {
      if (event.type !== 'done') change({ answer: event.accumulated });
      else change({ answer: event.response, state: 'done', ...(event.turnId === undefined ? {} : { turnId: event.turnId }) });
    }
  } catch (error) {
    if (isSignedOut(error)) signOut();
    change({ state: 'failed', failure: controller.signal.aborted ? 'Cancelled.' : describeError(error) });
  } finally {
    running = undefined;
  }
}

/** Cancels the turn whose answer is arriving. */
export function cancel(): void {
  running?.abort();
}

function replace(next: readonly Exchange[]): void {
  exchanges = next;
  for (const listener of listeners) listener();
}
