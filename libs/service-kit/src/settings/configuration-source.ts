import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '@switchyard/bus';
import { closest, Configuration, describeIssues, type ConfigurationPatch, type Sections } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import type { z } from 'zod';
import type { Variables } from '../variables/secret-variables.ts';
import type { SectionName, Settings } from './settings.ts';
import { StartError } from '../variables/start-error.ts';
import { readEnvironmentLayer, type Pin } from './environment-layer.ts';
import { readFileLayers } from './file-layer.ts';
import { findIneffective, type IneffectiveSetting } from './unused-settings.ts';
import { getPlace, type Origin } from './origin.ts';
import { keysBeside } from './schema-path.ts';
import { resolveReferences } from './references.ts';
import { followStored } from './stored-layer.ts';
import { freeze, merge, refuseShownSecrets, valueAt, type Tree } from './configuration-tree.ts';
import { createView, type ChangeListener } from './settings-view.ts';

/** The effective configuration of this process and the origin of each key. */
export interface ConfigurationSource extends AsyncDisposable {
  /** Returns a view of some sections that is always current. Disposing it removes its listeners. */
  watch<K extends SectionName>(sections: readonly K[]): Settings<K> & Disposable;
  readonly current: Readonly<Sections>;
  /** Returns the configuration that would result from this stored layer; throws a `StartError` that names the invalid keys. */
  preview(stored: Tree): Readonly<Sections>;
  /** Like `preview`, but keeps references such as `${NAME}` unresolved, for display, storage and comparison. */
  written(stored: Tree): Tree;
  /** The applied stored layer. */
  readonly stored: Tree;
  /** Lists the keys that the environment sets and that cannot be changed. */
  pinned(): readonly Pin[];
  /** Returns the origin of a key, with the applied stored layer or the given one. */
  origin(path: string, stored?: Tree): Origin;
  /** Lists configured settings without effect, because no service reads them yet. */
  notInForce(): readonly IneffectiveSetting[];
  /** Lists the configuration files, lowest precedence first. */
  files(): readonly string[];
  /** Revision of the applied stored layer; 0 before the first one. */
  readonly revision: number;
  onRevision(listener: (revision: number) => void): () => void;
  /** The rejected stored layer, while it is the newest. */
  readonly refusal: Refusal | undefined;
  onRefusal(listener: (refusal: Refusal) => void): () => void;
  /**
   * Applies a stored layer to this process before it is stored. Returns a function that applies the previous layer again. If the layer is
   * invalid, a listener fails, or all of it takes longer than the limit, the previous layer is applied again and the reason is thrown.
   */
  tryLayer(layer: Tree, timeoutMs: number): () => void;
  /** Applies the stored layer of the bus, now and after each change. */
  follow(bus: Bus, log: Logger): Promise<void>;
}

/** A rejected revision of the stored layer and the reason. */
export interface Refusal {
  revision: number;
  reason: string;
}

interface Layer {
  origin: Origin;
  tree: Tree;
}

/** The configuration files, lowest precedence first, and the environment variables. */
export interface SettingsInput {
  config: readonly string[] | undefined;
  variables: Variables;
}

/** Reads files and environment once. `preset` overrides the defaults and is overridden by the files. */
export async function openSettings(
  environment: SettingsInput,
  options: { preset?: ConfigurationPatch } = {},
): Promise<ConfigurationSource> {
  const { variables } = environment;
  const files = await readFileLayers(environment.config, { variables, schema: Configuration });
  const fromEnvironment = await readEnvironmentLayer(variables, Configuration);
  const below: Layer[] = [
    { origin: { layer: 'preset' }, tree: options.preset ?? {} },
    ...files.map(({ file, tree }) => ({ origin: { layer: 'file', file } as const, tree })),
  ];
  return createSource(
    below,
    { ...fromEnvironment, variables },
    files.map(({ file }) => file),
  );
}

function createSource(
  below: readonly Layer[],
  { tree, pins, variables }: { tree: Tree; pins: readonly Pin[]; variables: Variables },
  files: readonly string[],
): ConfigurationSource {
  let stored: Tree = {};
  let revision = 0;
  let current = compose(stored);
  /** Computed on the first read after a change. */
  let ineffective: readonly IneffectiveSetting[] | undefined;
  const listeners = new Set<ChangeListener>();
  const revisionListeners = new Set<(revision: number) => void>();
  const refusalListeners = new Set<(refusal: Refusal) => void>();
  let refusal: Refusal | undefined;
  /** The layer that this process tries; undefined once the bus has published a layer. */
  let tried: Tree | undefined;
  const owned = new AsyncDisposableStack();

  function originWith(layer: Tree, path: string): Origin {
    const keys = path.split('.');
    const pin = pins.findLast((candidate) => candidate.path === path || path.startsWith(`${candidate.path}.`));
    if (pin) return { layer: 'environment', variable: pin.variable };
    if (valueAt(layer, keys) !== undefined) return { layer: 'stored' };
    return below.findLast((lower) => valueAt(lower.tree, keys) !== undefined)?.origin ?? { layer: 'default' };
  }

  function compose(layer: Tree): Readonly<Sections> {
    const stated = resolveReferences(layer, variables, Configuration);
    const merged = [...below.map((lower) => lower.tree), stated, tree].reduce(merge, {});
    // zod would compile the schema at run time; for a single parse that takes longer and keeps memory.
    const parsed = Configuration.safeParse(merged, { reportInput: true, jitless: true });
    if (!parsed.success) throw new StartError(getRefusal(parsed.error, (path) => originWith(layer, path)));
    refuseShownSecrets(merged, (path) => describeOrigin(originWith(layer, path)));
    return freeze(parsed.data);
  }

  /** Throws without a change if the resulting configuration is not valid. */
  function apply(layer: Tree, nextRevision: number): Array<() => void> {
    // The listeners already know a layer that was tried here.
    const notifications = tried !== undefined && isDeepStrictEqual(layer, stored) ? [] : replaceLayer(layer);
    tried = undefined;
    revision = nextRevision;
    refusal = undefined;
    return [...notifications, ...[...revisionListeners].map((listener) => () => listener(nextRevision))];
  }

  function replaceLayer(layer: Tree): Array<() => void> {
    const before = current;
    current = compose(layer);
    stored = layer;
    ineffective = undefined;
    return [...listeners].map((listener) => () => listener(before));
  }

  function tryLayer(layer: Tree, timeoutMs: number): () => void {
    const [previous, startedAt] = [{ layer: stored, tried }, performance.now()];
    const goBack = (): void => {
      if (tried !== layer) return;
      const notifications = replaceLayer(previous.layer);
      tried = previous.tried;
      // A listener that fails here does not keep the others from the previous layer.
      for (const notify of notifications) {
        try {
          notify();
        } catch {}
      }
    };
    const notifications = replaceLayer(layer);
    tried = layer;
    try {
      for (const notify of notifications) notify();
      const tookMs = performance.now() - startedAt;
      if (tookMs > timeoutMs) throw new Error(`applying it took ${Math.ceil(tookMs)} ms, more than ${timeoutMs} ms`);
    } catch (error) {
      goBack();
      throw error;
    }
    return goBack;
  }

  /** Falls back, so that an invalid layer can still be displayed and repaired. */
  function composedOr(layer: Tree, otherwise: Readonly<Sections>): Readonly<Sections> {
    try {
      return compose(layer);
    } catch {
      return otherwise;
    }
  }

  function refuse(refused: Refusal): void {
    refusal = refused;
    for (const listener of refusalListeners) listener(refused);
  }

  return {
    get current() {
      return current;
    },
    get revision() {
      return revision;
    },
    get stored() {
      return stored;
    },
    get refusal() {
      return refusal;
    },
    preview: compose,
    written: (layer) => merge(merge(composedOr(layer, current), layer), tree),
    watch: (sections) => createView(sections, () => current, listeners),
    pinned: () => pins,
    origin: (path, layer = stored) => originWith(layer, path),
    notInForce: () => (ineffective ??= findIneffective([...below, { origin: { layer: 'stored' }, tree: stored }], { tree, pins })),
    files: () => files,
    onRevision(listener) {
      revisionListeners.add(listener);
      return () => void revisionListeners.delete(listener);
    },
    onRefusal(listener) {
      refusalListeners.add(listener);
      return () => void refusalListeners.delete(listener);
    },
    tryLayer,
    async follow(bus, log) {
      owned.defer(await followStored(bus, log, { apply, refuse }));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Formats `Config validation failed: <path>: <reason> (<origin>); …` without the values. */
function getRefusal(error: z.ZodError, origin: (path: string) => Origin): string {
  const reasons = describeIssues(error).map(({ path, expected, received }) => {
    const reason = received === 'an unknown name' ? createUnknownKeyError(path) : `expected ${expected}, got ${received}`;
    return `${path}: ${reason}${describeOrigin(origin(path))}`;
  });
  return `Config validation failed: ${reasons.join('; ')}`;
}

function createUnknownKeyError(path: string): string {
  const keys = path.split('.');
  const closestKey = closest(keys.at(-1) ?? '', keysBeside(Configuration, keys));
  return closestKey === undefined ? 'no such key' : `no such key; did you mean ${closestKey}?`;
}

function describeOrigin(origin: Origin): string {
  if (origin.layer === 'default' || origin.layer === 'preset') return '';
  return ` (${origin.layer === 'environment' ? 'from' : 'in'} ${getPlace(origin)})`;
}
