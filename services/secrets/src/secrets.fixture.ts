import { TOKENS_BUCKET, TokenProjection } from '@switchyard/contracts';
import { createSecretReader, startService, watchBucket, type Host } from '@switchyard/service-kit';
import { createLogger, type Logger } from '@switchyard/telemetry';
import { principal, testService, type TestService, type TestServiceOptions } from '@switchyard/testkit';
import { retiredSecretCollection, tokenCollection, TokenDocument, type TokenData } from './documents/collections.ts';
import { defineSecrets, secrets, type SecretsOptions } from './service.ts';

export const ENV = 'e'.repeat(40);
export const root = principal({ client: 'root', scopes: ['*'] });

/** Starts the service with `SWITCHYARD_TOKEN` and a caller with full access, unless the options differ. */
export function start(options: TestServiceOptions & SecretsOptions = {}): Promise<TestService> {
  const { firstToken, envFile, ...rest } = options;
  const definition = defineSecrets({ ...(firstToken && { firstToken }), ...(envFile === undefined ? {} : { envFile }) });
  return testService(definition, { as: root, env: { SWITCHYARD_TOKEN: ENV }, ...rest });
}

/** A second replica on the same bus and documents. */
export function secondReplica({ host }: { host: Host }): Promise<AsyncDisposable> {
  return startService(secrets, host);
}

/** The value of a secret, as the sessions service reads it. */
export async function resolve({ host }: { host: Host }, name: string): Promise<string | null> {
  return createSecretReader(await host.connect('sessions'), 'sessions')(name, undefined, 'provider');
}

/** The projected tokens that gateways watch, by key. */
export async function projected({ host }: { host: Host }): Promise<Map<string, TokenProjection>> {
  await using watched = await watchBucket(host.bus, TOKENS_BUCKET, TokenProjection);
  return new Map(watched.entries);
}

/** Opens the documents of the service for direct access by tests. */
export async function openData({ host }: { host: Host }): Promise<TokenData & AsyncDisposable> {
  const store = await host.store('secrets');
  return {
    ...(await store.open({ tokens: tokenCollection, retiredSecrets: retiredSecretCollection })),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** A minted token as it is stored. */
export function stored(id: string, fields: Partial<TokenDocument> = {}): TokenDocument {
  return TokenDocument.parse({ id, hash: `hash of ${id}`, scopes: ['*'], ver: 1, createdAt: 1, createdBy: 'test', ...fields });
}

/** A logger that collects its lines. */
export function collectingLog(): { log: Logger; lines: () => Record<string, unknown>[]; text: () => string } {
  const written: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void written.push(line) } });
  return { log, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>), text: () => written.join('') };
}
