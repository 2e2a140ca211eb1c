import { readEvent, type Log } from '@switchyard/bus';
import { subjects, type EventName } from '@switchyard/contracts';

/** Events that count as activity: actions of agents and their environment. */
const SHOWN: ReadonlySet<string> = new Set<EventName>([
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

/** How many events are read at once, and how often: of a tenant that is quiet among busy ones no older activity is shown. */
const PAGE = 200;
const PAGES = 10;

export interface Activity {
  /** The place in the log, as `/api/events` names it. */
  id: string;
  event: string;
  payload: unknown;
  /** Epoch milliseconds. */
  timestamp: number;
}

export interface ActivityAsked {
  tenant: string;
  limit: number;
}

/** The newest activity of a tenant, oldest first. The log is read backwards: it is the same one at every gateway, and outlives them. */
export async function readActivity(events: Log, { tenant, limit }: ActivityAsked): Promise<Activity[]> {
  const { name, seq } = await events.position();
  const found: Activity[] = [];
  for (let [to, page] = [seq, 0]; to > 0 && page < PAGES && found.length < limit; [to, page] = [to - PAGE, page + 1]) {
    const entries = await events.page(subjects.events, Math.max(to - PAGE + 1, 1), PAGE);
    for (const entry of entries.toReversed()) {
      const event = entry.seq <= to ? readEvent(entry) : undefined;
      if (event?.tenant !== tenant || !SHOWN.has(event.name)) continue;
      const payload: unknown = JSON.parse(Buffer.from(event.payload).toString());
      found.push({ id: `${name}-${entry.seq}`, event: event.name, payload, timestamp: entry.at });
    }
  }
  return found.slice(0, limit).reverse();
}
