import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import type { Versions } from './version-chain.ts';

const KEY = 'head';
/** Interval at which a head is published that a crashed replica moved and did not publish. */
const LOOK_EVERY_MS = 1_000;

/** The part of the bucket entry that is read here. Services also read the layer. */
const Entry = z.looseObject({ sha: z.string() });

/** Keeps the KV bucket `config`, which every service watches, equal to the head of the chain. */
export interface Publisher extends AsyncDisposable {
  /** Resolves once the current head, or a later one, is published. */
  publish(): Promise<void>;
  /** Reads the published version and its revision from the bus. Undefined before the first publication. */
  told(): Promise<Told | undefined>;
  /** The published version as this process last received it. May lag behind another replica by milliseconds. */
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

  /** Coalesces calls during a run into one further run, which sees all earlier writes. */
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

  /** Ignores older revisions: the watch can report an entry after it was overwritten. */
  function hear(told: Told | undefined): void {
    if (told !== undefined && told.revision > (heard?.revision ?? 0)) heard = told;
  }

  async function look(): Promise<void> {
    try {
      await publish();
      failing = false;
    } catch (err) {
      if (!failing) log.error({ err }, 'failed to publish the newest configuration; retrying every second');
      failing = true;
    }
  }

  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  const unfollow = bus.onRestored(() => {
    heard = undefined; // the content of the bucket may be lost
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

/** Reads the entry, then the head, then writes over exactly that entry. If two replicas compete, the later read wins. */
async function settle(bucket: Bucket, versions: Pick<Versions, 'head'>): Promise<Told> {
  for (;;) {
    const entry = await bucket.get(KEY);
    const { sha, layer } = await versions.head();
    const told = toldBy(entry);
    if (told?.sha === sha) return told;
    await bucket.update(KEY, Buffer.from(JSON.stringify({ sha, layer })), entry?.revision ?? 0);
  }
}

/** Undefined for an unreadable entry, which is then overwritten. */
function toldBy(entry: BucketEntry | undefined): Told | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    const { sha } = Entry.parse(JSON.parse(Buffer.from(entry.value).toString()));
    return { sha, revision: entry.revision };
  } catch {
    return undefined;
  }
}
