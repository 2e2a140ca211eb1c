import { progressEvents } from '@switchyard/contracts';
import type { LoggedEvent } from '../event-log.ts';
import { only, type Operation, type StreamEvent } from '../history.ts';
import { getPlace, RESET } from '../workload/listener.ts';
import type { Known, Violation } from './known.ts';

const TENANT = 'default';

/** I9 for tenant events: listeners receive each event of the log once and in order, and a reset wherever events are missing. */
export function events(known: Known): Violation[] {
  const logs = getLogs(known.events);
  const listeners = Map.groupBy(only(known.all, 'listen'), ({ client }) => client);
  return [...listeners].flatMap(([client, listened]) => {
    const matches = [...stopped(listened), ...wrongOrder(logs, listened)];
    return matches.map((description) => ({ invariant: 'I9', what: `${client}: ${description}` }));
  });
}

type Place = ReturnType<typeof getPlace>;

/** The events of a log by sequence number, and the received ones. */
interface Log {
  first: number;
  last: number;
  entries: Map<number, LoggedEvent>;
}

/** In chronological order. */
type Logs = Map<string, Log>;

function getLogs(logged: readonly LoggedEvent[]): Logs {
  const logs: Logs = new Map();
  for (const entry of logged) {
    const { log, seq } = entry;
    const known = logs.get(log) ?? { first: seq, last: seq, entries: new Map<number, LoggedEvent>() };
    known.last = seq;
    known.entries.set(seq, entry);
    logs.set(log, known);
  }
  return logs;
}

/** A listener with a position reconnects until it is served. */
function stopped(listened: readonly Operation<'listen'>[]): string[] {
  return listened
    .filter(
      ({ request, receivedMessages: heard, failure }) => failure?.code === 'STOPPED' && (request.after !== undefined || heard.length > 0),
    )
    .map(({ failure }) => `it was told not to come back: ${failure?.reason}`);
}

function wrongOrder(logs: Logs, listened: readonly Operation<'listen'>[]): string[] {
  const found: string[] = [];
  let place: Place | undefined;
  for (const { event } of listened.flatMap(({ receivedMessages: heard }) => heard)) {
    // The log does not keep progress events. They carry the id of the event before them.
    if (progressEvents.has(event.name)) continue;
    const next = getPlace(event.id);
    if (event.name === RESET) found.push(...wrongReset(logs, place, event));
    else found.push(...wrongEvent(logs, place, event));
    place = next;
  }
  const [log = ''] = [...logs.keys()].slice(-1);
  if (place && place.log !== log && between(logs, { log, seq: 0 }).length > 0) found.push(`it heard nothing of ${log}, and of no reset`);
  else if (place) found.push(...missing(logs, place, Infinity));
  return found;
}

function wrongEvent(logs: Logs, place: Place | undefined, { id, name }: StreamEvent): string[] {
  const { log, seq } = getPlace(id);
  const known = logs.get(log);
  const entry = known?.entries.get(seq);
  const seen = known !== undefined && seq >= known.first && seq <= known.last;
  if (entry ? entry.name !== name || entry.tenant !== TENANT : seen) return [`${id} is ${name}, which the log does not have there`];
  if (!place) return [];
  if (place.log !== log) return [`${id} came after ${place.log}-${place.seq}, and no reset between`];
  if (seq <= place.seq) return [`${id} came after number ${place.seq}`];
  return missing(logs, place, seq);
}

/** A reset names the client's position. Events between the last received one and that position are not reported as missing. */
function wrongReset(logs: Logs, place: Place | undefined, { from = '' }: StreamEvent): string[] {
  const message = getPlace(from);
  if (!place) return [];
  if (message.log !== place.log || message.seq < place.seq) return [`a reset from ${from} came after ${place.log}-${place.seq}`];
  return missing(logs, place, message.seq + 1);
}

function missing(logs: Logs, after: Place, before: number): string[] {
  return between(logs, after, before).map(({ log, seq, name }) => `${log}-${seq} ${name} was not heard`);
}

function between(logs: Logs, { log, seq: after }: Place, before = Infinity): LoggedEvent[] {
  const { last = 0, entries } = logs.get(log) ?? {};
  const found: LoggedEvent[] = [];
  for (let seq = after + 1; seq < before && seq <= last; seq += 1) {
    const entry = entries?.get(seq);
    if (entry?.tenant === TENANT) found.push(entry);
  }
  return found;
}
