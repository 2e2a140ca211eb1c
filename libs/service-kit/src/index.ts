export { atIntervals } from './scheduling/periodic-task.ts';
export { pause, systemClock, type Clock } from './scheduling/clock.ts';
export { defineService, type AnyService, type ServiceDefinition, type Setup } from './service/service-definition.ts';
export { openAgentDirectory, type Agent, type AgentDirectory } from './control-state/agent-directory.ts';
export { readEnvironment, type Environment } from './host/environment.ts';
export { PROCESS_VARIABLE_HELP, DEFAULT_DATA } from './variables/process-variables.ts';
export { followSecrets } from './control-state/secret-changes.ts';
export { type Dependency, type HealthRegistry, type HealthReporter, type Readiness } from './health/health-registry.ts';
export { openHost, type Host, type HostOptions } from './host/host.ts';
export { http } from './health/http.ts';
export { inSteps } from './scheduling/cooperative-task.ts';
export { largePayloads } from './storage/large-payloads.ts';
export { provision } from './host/provisioning-job.ts';
export { readSecret, type Variables } from './variables/secret-variables.ts';
export {
  countReplicas,
  reportRevisions,
  watchReplicas,
  type AwaitRevision,
  type ReplicaState,
  type Revisions,
  type WatchedReplicas,
} from './control-state/replica-reports.ts';
export { runProcess, runService, startSentence, type Starting } from './service/service-process.ts';
export { getVariable, type Pin } from './settings/environment-layer.ts';
export { type IneffectiveSetting } from './settings/unused-settings.ts';
export { startAgainWith } from './host/node-permissions.ts';
export { openSettings, type ConfigurationSource, type Refusal } from './settings/configuration-source.ts';
export { type Origin } from './settings/origin.ts';
export {
  createSecretReader,
  createSecretRecipient,
  createStorageKeyReader,
  encryptSecret,
  STORAGE_KEY_NAME,
  type SecretReader,
  type StorageKeyReader,
} from './control-state/secret-encryption.ts';
export { referencesIn, resolveReferences, sentReferences } from './settings/references.ts';
export { isTree, merge, only, refuseUnsafeKeys, getTree, valueAt, type Tree } from './settings/configuration-tree.ts';
export { keepFile } from './storage/private-file.ts';
export { StartError } from './variables/start-error.ts';
export type { StoreFile } from './storage/store-file.ts';
export { findLostRights, toPrincipal, toStoredPrincipal } from './service/stored-principal.ts';
export { startService } from './service/service-start.ts';
export { listRecordedUsage } from './usage/recorded-usage.ts';
export { usageCollection, type UsageDocument } from './usage/usage-document.ts';
export { createUsageRecorder, getOutcome, type UsageRecorder } from './usage/usage-recorder.ts';
export { syncBucketEntry } from './control-state/bucket-entry.ts';
export { watchBucket, type WatchedBucket } from './control-state/watched-bucket.ts';
export type { SectionName, Settings } from './settings/settings.ts';
