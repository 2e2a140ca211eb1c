import type { SystemEvent } from '@switchyard/client';
import { getToken, onTokenChange, signOut } from '../session/browser-token.ts';
import { getClient, isSignedOut } from '../session/client.ts';

/** Events that this tab keeps for the page of live events. */
export const MAX_EVENTS = 10_000;
/** Pages are updated at most this often. An update of a list of thousands of events takes longer than a frame. */
const FLUSH_INTERVAL_MS = 250;
/** The reading tab sends events to the other tabs at most this often. A message for each event would take a tenth of its time. */
const BROADCAST_INTERVAL_MS = 50;
const LOCK = 'switchyard:event-stream';

export type LiveEvent = Extract<SystemEvent, { type: 'event' }> & { at: number };
type Message = { type: 'events'; events: LiveEvent[] } | { type: 'reset' } | { type: 'alive'; at: number };

/** The state of the stream. The object changes with each update, so that React detects it. */
export interface HubState {
  events: readonly LiveEvent[];
  /** When the stream last proved to be alive, in epoch milliseconds. */
  aliveAt: number | undefined;
  /** Whether this tab reads the stream for all tabs of the browser. */
  isLeader: boolean;
}

const channel = new BroadcastChannel(LOCK);
const stateListeners = new Set<() => void>();
const eventListeners = new Set<(events: readonly LiveEvent[] | 'reset') => void>();
let state: HubState = { events: [], aliveAt: undefined, isLeader: false };
let pending: LiveEvent[] = [];
/** Events that the other tabs do not have yet. */
let unsent: LiveEvent[] = [];
let isReset = false;
let isScheduled = false;
let flushedAt = -FLUSH_INTERVAL_MS;

export const getHubState = (): HubState => state;

export function onHubChange(listener: () => void): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

/** Calls the listener with new events, at most four times a second, and with `reset` when events were missed. */
export function onEvents(listener: (events: readonly LiveEvent[] | 'reset') => void): () => void {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

channel.addEventListener('message', ({ data }: MessageEvent<Message>) => receive(data));

/** Reads the stream in one tab of the browser, which holds the lock. When it closes, the next tab gets the lock. */
export function startHub(): void {
  let reading: AbortController | undefined;
  const restart = (): void => {
    reading?.abort();
    reading = undefined;
    if (getToken() === undefined) return;
    const controller = (reading = new AbortController());
    const { signal } = controller;
    navigator.locks
      .request(LOCK, { signal }, () => lead(signal))
      .catch((error: unknown) => {
        if (isSignedOut(error)) signOut();
      })
      .finally(() => update({ isLeader: false }));
  };
  onTokenChange(restart);
  restart();
}

async function lead(signal: AbortSignal): Promise<void> {
  update({ isLeader: true });
  const last = state.events.at(-1)?.id;
  for await (const event of getClient().events({ signal, ...(last === undefined ? {} : { lastEventId: last }) })) {
    if (event.type === 'event') collect({ ...event, at: Date.now() });
    else publish(event.type === 'reset' ? { type: 'reset' } : { type: 'alive', at: Date.now() });
  }
}

function collect(event: LiveEvent): void {
  if (unsent.push(event) === 1) setTimeout(publishCollected, BROADCAST_INTERVAL_MS);
}

function publishCollected(): void {
  const events = unsent;
  unsent = [];
  if (events.length > 0) publish({ type: 'events', events });
}

/** Events that were collected are sent first, so that the other tabs get everything in the order of the stream. */
function publish(message: Message): void {
  if (message.type === 'reset') publishCollected();
  channel.postMessage(message);
  receive(message);
}

function receive(message: Message): void {
  if (message.type === 'alive') return update({ aliveAt: message.at });
  if (message.type === 'reset') isReset = true;
  else pending.push(...message.events);
  if (pending.length > MAX_EVENTS) pending = pending.slice(-MAX_EVENTS);
  // A hidden tab runs no frames: its pending events are bounded above, and it reads nothing until it is shown.
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => requestAnimationFrame(flush), Math.max(0, flushedAt + FLUSH_INTERVAL_MS - performance.now()));
}

function flush(): void {
  isScheduled = false;
  flushedAt = performance.now();
  const events = pending;
  pending = [];
  update({ events: [...state.events, ...events].slice(-MAX_EVENTS), aliveAt: Date.now() });
  if (isReset) {
    isReset = false;
    for (const listener of eventListeners) listener('reset');
  }
  if (events.length > 0) for (const listener of eventListeners) listener(events);
}

function update(change: Partial<HubState>): void {
  state = { ...state, ...change };
  for (const listener of stateListeners) listener();
}
