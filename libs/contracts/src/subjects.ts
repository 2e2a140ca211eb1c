import type { ServiceName } from './define.ts';

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

/** Every subject of the wire is spelled here and nowhere else. A token that came from outside is checked, never trusted. */
export const subjects = {
  method: (service: ServiceName, method: string) => `rpc.${service}.${method}`,
  operation: (service: ServiceName, operation: string) => `svc.${service}.${operation}`,
  /** `session:sub_agent_spawned` of sessions is `evt.sessions.session.sub_agent_spawned`. */
  event: (service: ServiceName, event: string) => `evt.${service}.${event.replace(':', '.')}`,
  events: 'evt.>',
  turn: (turnId: string) => `turn.${checked(turnId)}`,
  turns: 'turn.*',
  /** Clients are unique within a tenant only, and nobody broadcasts beyond their own. Both become tokens through `subjectToken` of the bus. */
  notifyClient: (tenant: string, clientId: string) => `notify.client.${checked(tenant)}.${checked(clientId)}`,
  notifyAll: (tenant: string) => `notify.all.${checked(tenant)}`,
  notifyEverybody: 'notify.all.*',
  cancel: (service: ServiceName) => `ctl.${service}.cancel`,
  /** What one gateway let through, for the windows of the others. */
  counted: 'ctl.gateway.counted',
  wake: (service: ServiceName) => `ctl.${service}.wake`,
} as const;

function checked(token: string): string {
  if (!TOKEN.test(token)) throw new TypeError('not a subject token: expected 1 to 64 of A-Z a-z 0-9 _ -');
  return token;
}

/** An ordered, replayable record of subjects. */
export interface LogDefinition {
  name: string;
  subjects: readonly string[];
  maxAgeMs: number;
  storage: 'memory' | 'file';
}

/** The frames of turns, for a client that comes back. */
export const TURNS_LOG: LogDefinition = { name: 'TURNS', subjects: [subjects.turns], maxAgeMs: 600_000, storage: 'memory' };

/** System events, so that a stream resumes by sequence on any replica. */
export const EVENTS_LOG: LogDefinition = { name: 'EVENTS', subjects: [subjects.events], maxAgeMs: 86_400_000, storage: 'file' };

export const LOGS: readonly LogDefinition[] = [TURNS_LOG, EVENTS_LOG];

/** Control state that every replica watches. `ttlMs` is how long an entry lives without being written again. */
export interface BucketDefinition {
  name: string;
  ttlMs?: number;
}

/** `{id, hash, scopes, tenant, ver, expiresAt}` of each live token, by token id. */
export const TOKENS_BUCKET: BucketDefinition = { name: 'tokens' };
/** The effective configuration of each agent, by agent id. */
export const AGENTS_BUCKET: BucketDefinition = { name: 'agents' };
/** The stored layer of the configuration, under the key `head`. */
export const CONFIG_BUCKET: BucketDefinition = { name: 'config' };
/** Which revisions each live replica runs, by `<service>.<replica>`. */
export const REPLICAS_BUCKET: BucketDefinition = { name: 'replicas', ttlMs: 15_000 };

export const BUCKETS: readonly BucketDefinition[] = [TOKENS_BUCKET, AGENTS_BUCKET, CONFIG_BUCKET, REPLICAS_BUCKET];
