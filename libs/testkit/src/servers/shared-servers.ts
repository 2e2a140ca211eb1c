/** Servers that the test runner starts once and that all test files of a run share. */
export interface SharedServers {
  mongo?: { url: string; name: string; real: boolean };
  /** URLs with the credentials of accounts that only one test process uses. */
  nats: string[];
  /** A cluster of the product, for suites that use a tenant of their own. */
  cluster?: { url: string; token: string; data: string };
}

export const SHARED_SERVERS_VARIABLE = 'SWITCHYARD_TEST_SERVERS';

/** Returns undefined when a test file runs without the test runner. */
export function readSharedServers(text = process.env[SHARED_SERVERS_VARIABLE]): SharedServers | undefined {
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as SharedServers);
}
