import type { Bus } from '@switchyard/bus';
import { CONFIG_BUCKET, MAX } from '@switchyard/contracts';
import { scrub, type Logger } from '@switchyard/telemetry';
import { z } from 'zod';
import { refuseUnsafeKeys, type Tree } from './configuration-tree.ts';

const STORED_KEY = 'head';
const Stored = z.looseObject({ layer: z.record(z.string(), z.unknown()) });

interface StoredLayerOptions {
  /** Applies a layer and returns the notifications to run; throws if the resulting configuration is not valid. */
  apply: (tree: Tree, revision: number) => Array<() => void>;
  /** Called with a revision that is not valid, or that a listener failed to apply. */
  refuse: (refusal: { revision: number; reason: string }) => void;
}

/** Follows the stored layer. Keeps the previous layer if the new one is not valid, so that a running service never stops. */
export async function followStored(bus: Bus, log: Logger, { apply, refuse }: StoredLayerOptions): Promise<() => void> {
  const bucket = await bus.kv(CONFIG_BUCKET);
  const watch = await bucket.watch(({ key, value, revision }) => {
    if (key !== STORED_KEY) return;
    let failure: unknown;
    const failed = (message: string) => (err: unknown) => {
      failure ??= err;
      log.error({ err, revision }, message);
    };
    const notifications = attempt(
      () => apply(value === undefined ? {} : parseStored(value), revision),
      failed('the stored configuration is invalid; the previous one stays in effect'),
    );
    for (const notify of notifications ?? []) attempt(notify, failed('failed to apply a configuration change'));
    if (failure !== undefined) refuse({ revision, reason: getReason(failure) });
  });
  return () => watch.stop();
}

/** Other services see this text. It is scrubbed, because errors of libraries may contain values. */
function getReason(failure: unknown): string {
  return scrub(failure instanceof Error ? failure.message : String(failure)).slice(0, MAX.line);
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
