import type { Bus, Ctx } from '@switchyard/bus';
import { MAX, type AuditLook, type AuditOutcome, type Principal, type ServiceName } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Logger } from '@switchyard/telemetry';

/** The first access is sent within one second; repeated accesses to the same target are sent every ten minutes with a count. */
const FIRST_DELAY_MS = 1_000;
const REPEAT_INTERVAL_MS = 600_000;
/** Above this number of counted targets, new accesses are counted per method without their target. */
const MAX_TARGETS = 1_000;
/** Hard limit of counters; accesses above it are dropped and reported in the log. */
const MAX_ENTRIES = 2 * MAX_TARGETS;
const TELL_MS = 5_000;

/** One read access and its outcome. */
export interface ReadAccess {
  method: string;
  target: Record<string, string>;
  outcome: AuditOutcome;
  code?: string;
  /** Accesses with the same key share a counter; computed when absent. */
  key?: string;
}

export function getKey({ method, outcome, code = '', target }: ReadAccess): string {
  return `${method} ${outcome} ${code} ${JSON.stringify(target)}`;
}

/** Records the read accesses of admins in the audit log. Sends them in batches in the background; no call waits for them. */
export interface Looks extends AsyncDisposable {
  note(ctx: Pick<Ctx, 'principal' | 'requestId'>, seen: ReadAccess): void;
  /** Sends all recorded accesses now. Never fails: accesses that cannot be sent are kept for the next attempt. */
  tell(): Promise<void>;
}

interface Given {
  bus: Pick<Bus, 'as'>;
  service: ServiceName;
  replica: string;
  log: Pick<Logger, 'warn' | 'debug'>;
}

/** Accesses of one caller with the same key. */
interface Counting extends ReadAccess {
  count: number;
  requestId: string;
  firstAt: number;
  dueAt: number;
}

/** A record that is ready to be sent. Its count is final and its id stays the same, so it may be sent twice. */
interface PendingRecord {
  principal: Principal;
  look: Omit<AuditLook, 'agoMs'>;
  firstAt: number;
}

/** A killed process loses unsent records: at most one second of new accesses and ten minutes of counts. */
export function createLooks({ bus, service, replica, log }: Given): Looks {
  const counted = new Map<Principal, Map<string, Counting>>();
  let size = 0;
  let lost = 0;
  let unsentRecords: PendingRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();

  function note(ctx: Pick<Ctx, 'principal' | 'requestId'>, seen: ReadAccess): void {
    const { principal } = ctx;
    const target = size < MAX_TARGETS ? seen.target : {};
    const key = seen.key ?? getKey({ ...seen, target });
    const mine = counted.get(principal) ?? new Map<string, Counting>();
    const known = mine.get(key);
    if (known !== undefined && known.count++ > 0) return;
    if (known === undefined && size >= MAX_ENTRIES) return void lost++;
    const now = performance.now();
    const one = known ?? { ...seen, target, count: 1, requestId: '', firstAt: now, dueAt: now };
    Object.assign(one, { requestId: ctx.requestId, firstAt: now });
    if (known === undefined) {
      counted.set(principal, mine.set(key, one));
      size++;
    }
    timer ??= setTimeout(tellSoon, FIRST_DELAY_MS).unref();
  }

  function tellSoon(): void {
    sending = sending.then(() => tellDue(false));
    void sending.then(() => (timer = size > 0 || unsentRecords.length > 0 ? setTimeout(tellSoon, FIRST_DELAY_MS).unref() : undefined));
  }

  /** Moves due counters to `untold`. Removes counters without an access since they were sent last. */
  function takeDue(all: boolean): void {
    const now = performance.now();
    for (const [principal, mine] of counted) {
      for (const [key, one] of mine) {
        if (!all && one.dueAt > now) continue;
        const { count, method, target, outcome, code, requestId, firstAt } = one;
        if (count === 0 || all) {
          mine.delete(key);
          size--;
        }
        if (count === 0) continue;
        const message = { method, target, outcome, ...(code === undefined ? {} : { code }), requestId, service, replica, count };
        unsentRecords.push({ principal, look: { id: mintId('audit'), ...message }, firstAt });
        Object.assign(one, { count: 0, dueAt: now + REPEAT_INTERVAL_MS });
      }
      if (mine.size === 0) counted.delete(principal);
    }
  }

  async function tellDue(all: boolean): Promise<void> {
    if (unsentRecords.length < MAX_TARGETS) takeDue(all);
    logLost();
    const remainingItems: PendingRecord[] = [];
    for (const [principal, ownItems] of Map.groupBy(unsentRecords, ({ principal: of }) => of)) {
      for (let from = 0; from < ownItems.length; from += MAX.few) {
        const some = ownItems.slice(from, from + MAX.few);
        const looks = some.map(({ look, firstAt }) => ({ ...look, agoMs: Math.round(performance.now() - firstAt) }));
        const delivery = bus.as(principal).call('audit.looked', { looks }, { timeoutMs: TELL_MS });
        await delivery.catch((err: unknown) => {
          log.debug({ err, looks: some.length }, 'failed to record read accesses in the audit log; retrying');
          remainingItems.push(...some);
        });
      }
    }
    unsentRecords = remainingItems;
  }

  function logLost(): void {
    if (lost > 0) log.warn({ lost, most: MAX_ENTRIES }, 'too many distinct read accesses; some are not in the audit log');
    lost = 0;
  }

  function notify(): Promise<void> {
    return (sending = sending.then(() => tellDue(true)));
  }

  return {
    note,
    tell: notify,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      if (size > 0) await notify();
      const calls = unsentRecords.reduce((sum, { look }) => sum + look.count, 0);
      if (calls > 0) log.warn({ calls }, 'the last read accesses are not in the audit log, because it was not available');
    },
  };
}
