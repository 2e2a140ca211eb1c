import type { Handler } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { listRecordedUsage, type UsageDocument } from '@switchyard/service-kit';
import { hasEnded, type TurnDocument } from '../model/turn-document.ts';
import { noUsage, turnEndedEvent } from '../turns/store/turn-ended-event.ts';

type Page = Result<'usage.list'>;
type Entry = Page['entries'][number];

const PAGE_SIZE = 50;
const TURNS = 'turns';
const USAGE = 'usage';

export interface UsageListDeps {
  turns: Collection<TurnDocument>;
  spent: Collection<UsageDocument>;
}

/** Pages through the ended turns, then through usage outside of turns, oldest first. */
export function usageList({ turns, spent }: UsageListDeps): Handler<'usage.list'> {
  return async ({ since, cursor }) => {
    const { source, position } = parseCursor(cursor);
    const previous = position === '' ? {} : { cursor: position };
    if (source === USAGE) {
      const page = await listRecordedUsage(spent, { event: 'usage:recorded', since, ...previous });
      return toPage(page.entries, page.cursor && `${USAGE}:${page.cursor}`);
    }
    const options = { limit: PAGE_SIZE, ...previous };
    const page = await turns.system().find({ finishedAt: { gte: since } }, { sort: [['finishedAt', 'asc']], ...options });
    return toPage(page.items.flatMap(fromTurn), page.cursor === undefined ? `${USAGE}:` : `${TURNS}:${page.cursor}`);
  };
}

function parseCursor(cursor = `${TURNS}:`): { source: string; position: string } {
  const end = cursor.indexOf(':');
  return { source: cursor.slice(0, end), position: cursor.slice(end + 1) };
}

function toPage(entries: Entry[], cursor: string | undefined): Page {
  return { entries, ...(cursor === undefined ? {} : { cursor }) };
}

/** Returns the turn as the event with which it ended. */
function fromTurn({ tenant, ...turn }: TurnDocument & { tenant: string }): Entry[] {
  const { state, finishReason, failure, mergedInto, usage = noUsage(), stepCount = 0, trace, finishedAt: at } = turn;
  if (!hasEnded(turn) || at === undefined) return [];
  const { payload } = turnEndedEvent(turn, {
    state: state as 'done' | 'failed' | 'cancelled',
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(failure === undefined ? {} : { failure }),
    ...(mergedInto === undefined ? {} : { mergedInto }),
    usage,
    steps: stepCount,
    trace,
    now: at,
  });
  return [{ tenant, name: 'turn:ended', payload: payload as Entry['payload'], at }];
}
