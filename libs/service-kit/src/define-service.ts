import type { Contract } from '@switchyard/contracts';
import type { Bus, Handlers } from '@switchyard/bus';
import type { Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SectionName, Settings } from './settings.ts';

/** What a service is given to set itself up. */
export interface Setup<K extends SectionName> {
  /** The sections it named, always current. */
  settings: Settings<K>;
  /** Its own database. */
  store: Store;
  /** Speaks for the service itself until `as` says otherwise. */
  bus: Bus;
  log: Logger;
  /** What is used here is disposed of, last first, after the service stopped taking calls. */
  own: AsyncDisposableStack;
  /** Names this replica in leases, reports and discovery. */
  replica: string;
  /** The process's environment, for the few who must read it. Never log it. */
  env: Readonly<Record<string, string | undefined>>;
  /** Says whether the service can do work; shown by `/readyz` and health checks. */
  health: HealthReporter;
}

export interface HealthReporter {
  /** `ready` starts true. A failing dependency says why; saying true again clears it. */
  set(dependency: string, ready: boolean, reason?: string): void;
}

/** One service: what it promises, what it reads, how it starts. Nothing happens until it is started on a host. */
export interface ServiceDefinition<C extends Contract, K extends SectionName> {
  contract: C;
  version: string;
  /** Sections of the configuration it reads, declared in contracts. */
  settings: readonly K[];
  setup(given: Setup<K>): Promise<Handlers<C>> | Handlers<C>;
}

export function defineService<C extends Contract, K extends SectionName>(definition: ServiceDefinition<C, K>): ServiceDefinition<C, K> {
  return definition;
}
