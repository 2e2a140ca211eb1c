import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus, readEvent, type Log, type LogPosition } from '@switchyard/bus';
import { EVENTS_LOG, subjects } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';

const POLL_MS = 200;
const PAGE = 500;

/** An event of the log. */
export interface LoggedEvent {
  /** Identifies the log; it changes when the log was lost and created again. */
  log: string;
  seq: number;
  name: string;
  tenant: string;
}

/** The address of nats-server without a proxy, and the credentials. */
export interface BusAccess {
  url: string;
  password: string;
}

type ReadPosition = Pick<LogPosition, 'name' | 'seq'>;

/** Reads the event log independently of the gateways, and records it before a fault deletes it. */
export interface EventWatch extends AsyncDisposable {
  /** Records the whole log. Returns undefined when it cannot be read. */
  upToNow(): Promise<ReadPosition | undefined>;
}

export async function watchEvents({ url, password }: BusAccess, file: string): Promise<EventWatch> {
  const fd = openSync(file, 'a', 0o600);
  const bus = await connectBus(url, { log: silentLogger(), service: 'gateway', credentials: { user: 'gateway', password } });
  let at: ReadPosition = { name: '', seq: 0 };
  let over = false;

  /** A read counts only if the log is the same before and after it. */
  async function readOn(log: Log): Promise<ReadPosition> {
    const { name, seq } = await log.position();
    if (name !== at.name) at = { name, seq: 0 };
    while (at.seq < seq) {
      const entries = await log.page(subjects.events, at.seq + 1, PAGE);
      if ((await log.position()).name !== name) return readOn(log);
      for (const entry of entries) {
        const { name: event, tenant } = readEvent(entry) ?? { name: '', tenant: '' };
        writeSync(fd, `${JSON.stringify({ log: name, seq: entry.seq, name: event, tenant } satisfies LoggedEvent)}\n`);
      }
      at = { name, seq: entries.at(-1)?.seq ?? seq };
    }
    return at;
  }

  /** The log is unavailable whenever nats-server is. */
  const look = async (): Promise<ReadPosition | undefined> => readOn(await bus.log(EVENTS_LOG)).catch(() => undefined);
  const watching = (async () => {
    while (!over) {
      await look().catch(() => undefined);
      await sleep(POLL_MS);
    }
  })();
  return {
    async upToNow() {
      over = true;
      await watching;
      return look();
    },
    async [Symbol.asyncDispose]() {
      over = true;
      await watching;
      closeSync(fd);
      await bus.drain();
    },
  };
}
