import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import type { Versions } from './version-chain.ts';

const KEY = 'head';
/** How soon a head is told that was moved by a replica which died before it told it. */
const LOOK_EVERY_MS = 1_000;

/** What stands in the bucket, so far as it is read here: services read the layer beside it. */
const Entry = z.looseObject({ sha: z.string() });

/** Keeps the bucket that every service watches equal to the head of the chain. */
export interface Publisher extends AsyncDisposable {
  /** Resolves once everybody is told of the head as it is now, or of a later one. */
  publish(): Promise<void>;
  /** What everybody is told, and under which revision; undefined before anything is. Asks the bus. */
  told(): Promise<Told | undefined>;
  /** The same as this process heard of it last, at once: what another replica told may be milliseconds older. */
  heard(): Told | undefined;
}

export interface Told {
  sha: string;
  revision: number;
}

export async function openPublisher(bus: Bus, versions: Pick<Versions, 'head'>, log: Logger): Promise<Publisher> {
  const bucket = await bus.kv(CONFIG_BUCKET);
  let heard: Told | undefined;
  const watch = await bucket.watch((entry) => {
    if (entry.key === KEY) hear(toldBy(entry));
  });
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failing = false;

  /** Whoever comes while one runs shares the one after it, which sees what was written before it began. */
  function publish(): Promise<void> {
    if (running === undefined)
      return (running = settle(bucket, versions)
        .then(hear)
        .finally(() => (running = undefined)));
    return (next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return publish();
      }));
  }

  /** What is written here may come again from the watch, after it was written over. */
  function hear(told: Told | undefined): void {
    if (told !== undefined && told.revision > (heard?.revision ?? 0)) heard = told;
  }

  async function look(): Promise<void> {
    try {
      await publish();
      failing = false;
    } catch (err) {
      if (!failing) log.error({ err }, 'the services are not told of the newest configuration; it is tried again every second');
      failing = true;
    }
  }

  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  const unfollow = bus.onRestored(() => {
    heard = undefined; // what was in the bucket may be lost
    return publish();
  });
  return {
    publish,
    told: async () => toldBy(await bucket.get(KEY)),
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
      watch.stop();
      await running?.catch(() => undefined);
    },
  };
}

/** Reads the entry, then the head, then writes over exactly that entry: of two replicas the one that read the head later wins. */
async function settle(bucket: Bucket, versions: Pick<Versions, 'head'>): Promise<Told> {
  for (;;) {
    const entry = await bucket.get(KEY);
    const { sha, layer } = await versions.head();
    const told = toldBy(entry);
    if (told?.sha === sha) return told;
    await bucket.update(KEY, Buffer.from(JSON.stringify({ sha, layer })), entry?.revision ?? 0);
  }
}

/** What cannot be read is written anew. */
function toldBy(entry: BucketEntry | undefined): Told | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    const { sha } = Entry.parse(JSON.parse(Buffer.from(entry.value).toString()));
    return { sha, revision: entry.revision };
  } catch {
    return undefined;
  }
}
