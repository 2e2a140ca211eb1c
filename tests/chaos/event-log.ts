import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus, readEvent, type Log, type LogPosition } from '@switchyard/bus';
import { EVENTS_LOG, subjects } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';

const POLL_MS = 200;
const PAGE = 500;

/** An event as the log has it. */
export interface LoggedEvent {
  /** The log is another one when it was lost and made anew. */
  log: string;
  seq: number;
  name: string;
  tenant: string;
}

/** Where nats-server itself is, with nothing between, and who we are there. */
export interface BusAccess {
  url: string;
  password: string;
}

/** Reads the log of events beside all gateways, and writes down what it has before anybody takes that away. */
export interface EventWatch extends AsyncDisposable {
  /** Everything that the log has now is written down. Undefined where it cannot be read. */
  upToNow(): Promise<LogPosition | undefined>;
}

export async function watchEvents({ url, password }: BusAccess, file: string): Promise<EventWatch> {
  const fd = openSync(file, 'a', 0o600);
  const bus = await connectBus(url, { log: silentLogger(), service: 'gateway', credentials: { user: 'gateway', password } });
  let at: LogPosition = { name: '', seq: 0 };
  let over = false;

  /** What is read counts only if the log is the same one before and after. */
  async function readOn(log: Log): Promise<LogPosition> {
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

  /** It is away as often as nats-server is. */
  const look = async (): Promise<LogPosition | undefined> => readOn(await bus.log(EVENTS_LOG)).catch(() => undefined);
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
