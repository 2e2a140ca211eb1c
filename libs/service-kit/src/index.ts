export { atIntervals } from './at-intervals.ts';
export { pause, systemClock, type Clock } from './clock.ts';
export { defineService, type AnyService, type ServiceDefinition, type Setup } from './define-service.ts';
export { PROCESS_VARIABLE_HELP, DEFAULT_DATA, readEnvironment, type Environment } from './environment.ts';
export { followSecrets } from './follow-secrets.ts';
export { type Dependency, type HealthRegistry, type HealthReporter, type Readiness } from './health.ts';
export { openHost, type Host, type HostOptions } from './host.ts';
export { http } from './http.ts';
export { inSteps } from './in-steps.ts';
export { largePayloads } from './large-payloads.ts';
export { provision } from './provision.ts';
export { readSecret, type Variables } from './read-secret.ts';
export {
  countReplicas,
  reportRevisions,
  watchReplicas,
  type AwaitRevision,
  type ReplicaState,
  type Revisions,
  type WatchedReplicas,
} from './replicas.ts';
export { runProcess, runService, startSentence, type Starting } from './run-service.ts';
export { variableOf, type Pin } from './settings/environment-layer.ts';
export { type IneffectiveSetting } from './settings/not-in-force.ts';
export { startAgainWith } from './permissions.ts';
export { openSettings, type ConfigurationSource, type Refusal } from './settings/open-settings.ts';
export { type Origin } from './settings/origin.ts';
export { closest } from './settings/closest.ts';
export { createSecretReader, createSecretRecipient, encryptSecret, type SecretReader } from './secret-encryption.ts';
export { referencesIn, resolveReferences, sentReferences } from './settings/references.ts';
export { isTree, merge, only, refuseUnsafeKeys, treeOf, valueAt, type Tree } from './settings/tree.ts';
export { keepFile } from './keep-file.ts';
export { StartError } from './start-error.ts';
export type { StoreFile } from './store-file.ts';
export { startService } from './start-service.ts';
export { watchBucket, type WatchedBucket } from './watch-bucket.ts';
export type { SectionName, Settings } from './settings.ts';
export {
  createLeases,
  leaseFields,
  newWork,
  WorkState,
  type FinalState,
  type Lease,
  type LeaseOptions,
  type Leases,
  type WorkChange,
  type WorkDocument,
} from './lease.ts';
