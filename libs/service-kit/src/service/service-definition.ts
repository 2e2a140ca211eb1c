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

/** What a service is given to set itself up. */
export interface Setup<K extends SectionName> {
  /** The sections it named, always current. */
  settings: Settings<K>;
  /** Its own database, opened with its first collections: who keeps nothing has none. */
  store: Store;
  /** Opened when first asked for: what the service's replicas share and may lose. */
  cache: () => Promise<Cache>;
  /** Opened when first asked for: what is too large for a message or a document, kept for a while and read by any service. */
  blobs: () => Promise<BlobStore>;
  /** Speaks for the service itself until `as` says otherwise. */
  bus: Bus;
  log: Logger;
  /** What is used here is disposed of, last first, after the service stopped taking calls. */
  own: AsyncDisposableStack;
  /** Names this replica in leases, reports and discovery. */
  replica: string;
  /** The data directory of the process: for what can be made anew from documents. */
  data: string;
  /** The process's environment, for the few who must read it. Never log it. */
  env: Readonly<Record<string, string | undefined>>;
  /** Says whether the service can do work; shown by `/readyz` and health checks. */
  health: HealthReporter;
  /** Says which revisions of a KV bucket are in force here, for whoever waits until all replicas have one. */
  revisions: Revisions;
  /** Called once by a service that has methods with sealed params. */
  setParamsDecryption: (decryption: ParamsDecryption) => void;
  /** The whole configuration and where each part comes from, for the registry; others use `settings`. */
  configuration: ConfigurationSource;
}

/** One service: what it promises, what it reads, how it starts. Nothing happens until it is started on a host. */
export interface ServiceDefinition<C extends Contract, K extends SectionName> {
  contract: C;
  version: string;
  /** Sections of the configuration it reads, declared in contracts. */
  settings: readonly K[];
  /** The file that its settings want its documents in, where documents are kept in files. */
  storeFile?: (settings: Settings<K>['current']) => StoreFile | undefined;
  setup(given: Setup<K>): Promise<Handlers<C>> | Handlers<C>;
}

export function defineService<C extends Contract, K extends SectionName>(definition: ServiceDefinition<C, K>): ServiceDefinition<C, K> {
  return definition;
}

/** Any service, for whoever starts several without caring which. */
export type AnyService = ServiceDefinition<Contract, SectionName>;
