import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import type { Versions } from './version-chain.ts';

const KEY = 'head';
/** Interval at which a head is published that a crashed replica moved and did not publish. */
const POLL_INTERVAL_MS = 1_000;

/** The part of the bucket entry that is read here. Services also read the layer. */
const Entry = z.looseObject({ sha: z.string() });

/** Keeps the KV bucket `config`, which every service watches, equal to the head of the chain. */
export interface Publisher extends AsyncDisposable {
  /** Resolves once the current head, or a later one, is published. */
  publish(): Promise<void>;
  /** Reads the published version and its revision from the bus. Undefined before the first publication. */
  published(): Promise<PublishedVersion | undefined>;
  /** The published version as this process last received it. May lag behind another replica by milliseconds. */
  lastPublished(): PublishedVersion | undefined;
  /** Calls the listener with the last published version and with each newer one. Returns a function that removes it. */
  onPublished(listener: (version: PublishedVersion) => void): () => void;
}

export interface PublishedVersion {
  sha: string;
  revision: number;
}

export async function openPublisher(bus: Bus, versions: Pick<Versions, 'head'>, log: Logger): Promise<Publisher> {
  const bucket = await bus.kv(CONFIG_BUCKET);
  let lastPublished: PublishedVersion | undefined;
  const listeners = new Set<(version: PublishedVersion) => void>();
  const watch = await bucket.watch((entry) => {
    if (entry.key === KEY) onPublished(parseEntry(entry));
  });
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let failing = false;

  /** Coalesces calls during a run into one further run, which sees all earlier writes. */
  function publish(): Promise<void> {
    if (running === undefined)
      return (running = publishHead(bucket, versions)
        .then(onPublished)
        .finally(() => (running = undefined)));
    return (next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return publish();
      }));
  }

  /** Ignores older revisions: the watch can report an entry after it was overwritten. */
  function onPublished(published: PublishedVersion | undefined): void {
    if (published === undefined || published.revision <= (lastPublished?.revision ?? 0)) return;
    lastPublished = published;
    for (const listener of listeners) listener(published);
  }

  async function publishPending(): Promise<void> {
    try {
      await publish();
      failing = false;
    } catch (err) {
      if (!failing) log.error({ err }, 'failed to publish the newest configuration; retrying every second');
      failing = true;
    }
  }

  const timer = setInterval(() => void publishPending(), POLL_INTERVAL_MS).unref();
  const unfollow = bus.onRestored(() => {
    lastPublished = undefined; // the content of the bucket may be lost
    return publish();
  });
  return {
    publish,
    published: async () => parseEntry(await bucket.get(KEY)),
    lastPublished: () => lastPublished,
    onPublished(listener) {
      listeners.add(listener);
      if (lastPublished !== undefined) listener(lastPublished);
      return () => void listeners.delete(listener);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      unfollow();
      watch.stop();
      await running?.catch(() => undefined);
    },
  };
}

/** Reads the entry, then the head, then writes over exactly that entry. If two replicas compete, the later read wins. */
async function publishHead(bucket: Bucket, versions: Pick<Versions, 'head'>): Promise<PublishedVersion> {
  for (;;) {
    const entry = await bucket.get(KEY);
    const { sha, layer } = await versions.head();
    const published = parseEntry(entry);
    if (published?.sha === sha) return published;
    await bucket.update(KEY, Buffer.from(JSON.stringify({ sha, layer })), entry?.revision ?? 0);
  }
}

/** Undefined for an unreadable entry, which is then overwritten. */
function parseEntry(entry: BucketEntry | undefined): PublishedVersion | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    const { sha } = Entry.parse(JSON.parse(Buffer.from(entry.value).toString()));
    return { sha, revision: entry.revision };
  } catch {
    return undefined;
  }
}
