/** Folders that all services depend on, or whose failures show in crashes only. */
const CORE = /^(libs\/(bus|store|service-kit|work)|services\/sessions)\//;

/** The number of parts of `make test-full` in CI. */
export const SHARD_COUNT = 4;

/** All shards when a file of the core changed, else one that the commit's hash selects, so that consecutive commits run different ones. */
export function chooseShards(commit: string, changedFiles: readonly string[]): number[] {
  if (changedFiles.some((file) => CORE.test(file))) return Array.from({ length: SHARD_COUNT }, (_, at) => at + 1);
  return [(Number.parseInt(commit.slice(0, 8), 16) % SHARD_COUNT) + 1];
}
