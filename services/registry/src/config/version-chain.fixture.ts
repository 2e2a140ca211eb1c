import type { TestContext } from 'node:test';
import { connectBus, createMemoryHub, type Bus } from '@switchyard/bus';
import { CONFIG_BUCKET } from '@switchyard/contracts';
import { merge, type Tree } from '@switchyard/service-kit';
import { openStore, type Collection, type Document, type Store } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { configHeadCollection, configLayerCollection, configVersionCollection } from '../documents/collections.ts';
import { openPublisher, type Publisher } from './head-publisher.ts';
import { openVersions, type Versions } from './version-chain.ts';

/** Crashes the process before or after a write: nothing that it does later happens. Or loses the reply of a write. */
export interface Death {
  write: 'version' | 'layer' | 'head' | 'bucket';
  when: 'before' | 'after' | 'unheard';
}

/** Shared by all replicas: documents, a bus, and the published events. */
export interface World {
  events: { sha: string; key?: string }[];
  replica(death?: Death): Promise<Replica>;
  /** Changes the layer of a version directly in the database. */
  tamper(sha: string, layer: Tree): Promise<void>;
  /** The published version. */
  published(): Promise<{ sha: string; layer: Tree } | undefined>;
}

export interface Replica {
  versions: Versions;
  publisher: Publisher;
  /** Sets one key, publishes it and returns the version. */
  set(key: string, value: unknown): Promise<string>;
}

export async function openWorld(t: TestContext): Promise<World> {
  const dir = await tempDir();
  t.after(() => dir[Symbol.asyncDispose]());
  const store = await openStore(`sqlite:${dir.path}`, { service: 'registry', log: silentLogger(), strict: true });
  t.after(() => store.close());
  const events: World['events'] = [];
  await store.publishTo(async ({ payload }) => void events.push(payload as World['events'][number]));
  const bus = await connectBus('memory:', { log: silentLogger(), hub: createMemoryHub() });
  t.after(() => bus.drain());
  return {
    events,
    replica: (death) => openReplica(t, { store, bus, dying: createDying(death) }),
    async tamper(sha, layer) {
      const { layers } = await store.open({ layers: configLayerCollection });
      await layers.for({ tenant: 'default' }).replace({ sha, layer });
    },
    async published() {
      const entry = await (await bus.kv(CONFIG_BUCKET)).get('head');
      return entry?.value && (JSON.parse(Buffer.from(entry.value).toString()) as { sha: string; layer: Tree });
    },
  };
}

async function openReplica(t: TestContext, { store, bus, dying }: { store: Store; bus: Bus; dying: Dying }): Promise<Replica> {
  const stored = await store.open({ layers: configLayerCollection, versions: configVersionCollection, heads: configHeadCollection });
  const versions = await openVersions({
    layers: dying.collection('layer', stored.layers),
    versions: dying.collection('version', stored.versions),
    heads: dying.collection('head', stored.heads),
    tenant: 'default',
    store,
  });
  const publisher = await openPublisher(dying.bus(bus), versions, silentLogger());
  t.after(() => publisher[Symbol.asyncDispose]());
  dying.arm();
  return {
    versions,
    publisher,
    async set(key, value) {
      const emit = (sha: string) => [{ name: 'config:patched', payload: { sha, key } }];
      const { sha } = await versions.commit({ author: 'ops', message: key }, ({ layer }) => ({
        layer: merge(layer, { gateway: { [key]: value } }),
        emit,
      }));
      await publisher.publish();
      return sha;
    },
  };
}

const WRITES = ['insert', 'replace', 'update', 'claim', 'remove', 'put'];

type Dying = ReturnType<typeof createDying>;

function createDying(death: Death | undefined) {
  let armed = false;
  let dead = false;

  function die(): never {
    dead = true;
    throw new Error('this process is gone');
  }

  /** A proxy that fails once the process has crashed. */
  function mortal<T extends object>(target: T, name: Death['write']): T {
    return new Proxy(target, {
      get(from, key) {
        const member: unknown = Reflect.get(from, key);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          if (dead) die();
          const isTarget = armed && death?.write === name && WRITES.includes(String(key)) && key !== 'remove';
          if (isTarget && death.when === 'before') die();
          const result: unknown = await (member as (...args: unknown[]) => unknown).apply(from, args);
          if (isTarget && death.when === 'after') die();
          if (isTarget) throw new Error('no answer');
          return result;
        };
      },
    });
  }

  return {
    arm: () => void (armed = true),
    collection: <D extends Document>(name: Death['write'], all: Collection<D>): Collection<D> => ({
      ...all,
      for: (principal) => mortal(all.for(principal), name),
    }),
    bus: (bus: Bus): Bus => ({ ...bus, kv: async (definition) => mortal(await bus.kv(definition), 'bucket') }),
  };
}
