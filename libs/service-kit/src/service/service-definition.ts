import type { BlobStore } from '@switchyard/blob';
import type { Cache } from '@switchyard/cache';
import type { Contract } from '@switchyard/contracts';
import type { Bus, Handlers, ParamsDecryption } from '@switchyard/bus';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { HealthReporter } from '../health/health-registry.ts';
import type { Revisions } from '../control-state/replica-reports.ts';
import type { ConfigurationSource } from '../settings/configuration-source.ts';
import type { SectionName, Settings } from '../settings/settings.ts';
import type { StoreFile } from '../storage/store-file.ts';

/** The context of a service's setup. */
export interface Setup<K extends SectionName> {
  /** The sections of the definition, always current. */
  settings: Settings<K>;
  /** The database of the service. It is created with the first collection. */
  store: Store;
  /** Opens the cache that all replicas share; its data may be lost. */
  cache: () => Promise<Cache>;
  /** Opens the blob store: temporary storage for data too large for a message or a document; readable by all services. */
  blobs: () => Promise<BlobStore>;
  /** Calls have the service as principal, unless `as` selects another one. */
  bus: Bus;
  log: Logger;
  /** Resources that are disposed in reverse order after the service has stopped accepting calls. */
  own: AsyncDisposableStack;
  /** Name of this replica in leases, reports and discovery. */
  replica: string;
  /** The data directory of the process, for data that can be rebuilt from documents. */
  data: string;
  /** The environment of the process. Never log it. */
  env: Readonly<Record<string, string | undefined>>;
  /** Reports the health of the service for `/readyz` and health checks. */
  health: HealthReporter;
  /** Reports the applied revisions of KV buckets, so that callers can wait until all replicas have applied one. */
  revisions: Revisions;
  /** Must be called once by a service that has methods with sealed params. */
  setParamsDecryption: (decryption: ParamsDecryption) => void;
  /** The whole configuration with the origin of each key, for the registry. Other services use `settings`. */
  configuration: ConfigurationSource;
}

/** One service: its contract, its settings and its setup. It starts with `startService`. */
export interface ServiceDefinition<C extends Contract, K extends SectionName> {
  contract: C;
  version: string;
  /** The configuration sections that it reads, as declared in contracts. */
  settings: readonly K[];
  /** Returns the configured database file, if the store keeps documents in files. */
  storeFile?: (settings: Settings<K>['current']) => StoreFile | undefined;
  setup(options: Setup<K>): Promise<Handlers<C>> | Handlers<C>;
}

export function defineService<C extends Contract, K extends SectionName>(definition: ServiceDefinition<C, K>): ServiceDefinition<C, K> {
  return definition;
}

/** A service of any contract, for code that starts several services. */
export type AnyService = ServiceDefinition<Contract, SectionName>;
