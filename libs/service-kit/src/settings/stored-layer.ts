import type { Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import { refuseUnsafeKeys, type Tree } from './tree.ts';

const STORED_KEY = 'head';
const Stored = z.looseObject({ layer: z.record(z.string(), z.unknown()) });

/** Puts a layer in force and returns whom to tell; throws when the whole would not be valid. */
type Apply = (tree: Tree, revision: number) => Array<() => void>;

/** A stored layer that is not valid leaves the one before in force: a running service never stops for it. */
export async function followStored(bus: Bus, log: Logger, apply: Apply): Promise<() => void> {
  const bucket = await bus.kv(CONFIG_BUCKET);
  const watch = await bucket.watch(({ key, value, revision }) => {
    if (key !== STORED_KEY) return;
    const notifications = attempt(
      () => apply(value === undefined ? {} : parseStored(value), revision),
      (err) => log.error({ err, revision }, 'the stored configuration is not valid, so the one before stays in force'),
    );
    for (const notify of notifications ?? [])
      attempt(notify, (err) => log.error({ err, revision }, 'a change of the configuration was not taken over'));
  });
  return () => watch.stop();
}

function parseStored(bytes: Uint8Array): Tree {
  const { layer } = Stored.parse(JSON.parse(Buffer.from(bytes).toString()));
  refuseUnsafeKeys(layer, 'The stored configuration');
  return layer;
}

function attempt<T>(run: () => T, onError: (error: unknown) => void): T | undefined {
  try {
    return run();
  } catch (error) {
    onError(error);
    return undefined;
  }
}
