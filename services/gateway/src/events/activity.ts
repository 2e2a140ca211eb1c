import { readEvent, type Log } from '@switchyard/bus';
import { subjects, type EventName } from '@switchyard/contracts';

/** Events that count as activity: actions of agents and their environment. */
const ACTIVITY_EVENTS: ReadonlySet<string> = new Set<EventName>([
  'message:received',
  'message:sent',
  'message:streaming',
  'session:created',
  'session:expired',
  'audit:event',
  'skill:loaded',
  'skill:executed',
  'skill:rejected',
  'scheduler:job_started',
  'scheduler:job_completed',
  'scheduler:heartbeat_check',
  'system:error',
]);

/** Events per read. */
const PAGE_SIZE = 200;
/** Reads per request. Older activity of a quiet tenant among busy ones is not found. */
const MAX_PAGES = 10;

export interface Activity {
  /** The position in the log, as in `/api/events`. */
  id: string;
  event: string;
  payload: unknown;
  /** Epoch milliseconds. */
  timestamp: number;
}

export interface ReadActivityOptions {
  tenant: string;
  limit: number;
}

/** Reads the newest activity of a tenant from the log, which all gateways share, and returns it oldest first. */
export async function readActivity(events: Log, { tenant, limit }: ReadActivityOptions): Promise<Activity[]> {
  const { name, seq } = await events.position();
  const activity: Activity[] = [];
  for (let [to, page] = [seq, 0]; to > 0 && page < MAX_PAGES && activity.length < limit; [to, page] = [to - PAGE_SIZE, page + 1]) {
    const entries = await events.page(subjects.events, Math.max(to - PAGE_SIZE + 1, 1), PAGE_SIZE);
    for (const entry of entries.toReversed()) {
      const event = entry.seq <= to ? readEvent(entry) : undefined;
      if (event?.tenant !== tenant || !ACTIVITY_EVENTS.has(event.name)) continue;
      const payload: unknown = JSON.parse(Buffer.from(event.payload).toString());
      activity.push({ id: `${name}-${entry.seq}`, event: event.name, payload, timestamp: entry.at });
    }
  }
  return activity.slice(0, limit).reverse();
}
