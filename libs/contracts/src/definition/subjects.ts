import { SERVICES, type ServiceName } from './define.ts';

const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;
/** Into how many groups turns fall: as many streams can share them at the most. It is part of every subject and never changes. */
const TURN_GROUPS = 16;

/** All bus subjects. Values from outside are checked or encoded before they become part of a subject. */
export const subjects = {
  method: (service: ServiceName, method: string) => `rpc.${service}.${method}`,
  operation: (service: ServiceName, operation: string) => `svc.${service}.${operation}`,
  /** An operation of one replica, for what only its process holds. */
  ownOperation: (service: ServiceName, replica: string, operation: string) => `own.${service}.${subjectPart(replica)}.${operation}`,
  ownOperations: (service: ServiceName, replica: string) => `own.${service}.${subjectPart(replica)}.>`,
  /** No replica answers it. The bus reports whether a replica subscribes to it. */
  replicaProbe: (service: ServiceName, replica: string) => `own.${service}.${subjectPart(replica)}.probe`,
  /** For permissions. */
  replicaProbes: 'own.*.*.probe',
  /** For permissions. */
  ownOperationOfAnyReplica: (service: ServiceName, operation: string) => `own.${service}.*.${operation}`,
  ownOperationsOfAnyReplica: (service: ServiceName) => `own.${service}.>`,
  /** All events of one service. */
  eventsOf: (service: ServiceName) => `evt.${service}.>`,
  /** `session:sub_agent_spawned` in the tenant `acme` is `evt.sessions.session.sub_agent_spawned.acme`. */
  event: (service: ServiceName, event: string, tenant: string) => `${eventPrefix(service, event)}.${subjectPart(tenant)}`,
  /** An event in any tenant. */
  eventInAnyTenant: (service: ServiceName, event: string) => `${eventPrefix(service, event)}.*`,
  eventsOfTenant: (tenant: string) => `evt.*.*.*.${subjectPart(tenant)}`,
  events: 'evt.>',
  /** Each turn stands in one of a few groups, so that several streams can share what turns say. */
  turn: (turnId: string) => `turn.${getGroup(checked(turnId))}.${turnId}`,
  turnGroup: (group: number) => `turn.${group.toString(TURN_GROUPS)}.*`,
  turns: 'turn.*.*',
  /** Clients are unique within a tenant only, and nobody broadcasts beyond their own. */
  notifyClient: (tenant: string, client: string) => `notify.client.${subjectPart(tenant)}.${subjectPart(client)}`,
  notifyAll: (tenant: string) => `notify.all.${subjectPart(tenant)}`,
  notifyEverybody: 'notify.all.*',
  notifyClients: 'notify.client.*.*',
  cancel: (service: ServiceName) => `ctl.${service}.cancel`,
  /** Requests counted by one gateway, for the rate windows of the other gateways. */
  counted: 'ctl.gateway.counted',
  wake: (service: ServiceName) => `ctl.${service}.wake`,
  /** A turn was ended by a process other than its runner. A lost message costs seconds. */
  turnEnded: 'ctl.sessions.ended',
} as const;

function eventPrefix(service: ServiceName, event: string): string {
  return `evt.${service}.${event.replace(':', '.')}`;
}

function checked(token: string): string {
  if (!TOKEN.test(token)) throw new TypeError('not a subject token: expected 1 to 64 of A-Z a-z 0-9 _ -');
  return token;
}

/** The four highest bits of FNV-1a, which is cheap and spreads ids evenly: one digit. */
function getGroup(turnId: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < turnId.length; at++) hash = Math.imul(hash ^ turnId.charCodeAt(at), 0x01000193);
  return (hash >>> 28).toString(TURN_GROUPS);
}

const PLAIN = /^[A-Za-z0-9_-]+$/;
const PART = /^(?:[A-Za-z0-9_-]|=[0-9a-f]{2})+$/;

/**
 * Any text as one part of a subject or of a bucket's key: a byte that is no letter, digit, `-` or `_` becomes `=` and two
 * digits. Two texts never give one part.
 */
export function subjectPart(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text === '') throw new TypeError('no text is no part of a subject');
  const encoded = Array.from(new TextEncoder().encode(text), (byte) => {
    const character = String.fromCharCode(byte);
    return PLAIN.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
  });
  return encoded.join('');
}

/** Bucket key of an entry of a tenant. */
export function bucketKey(tenant: string, id: string): string {
  return `${subjectPart(tenant)}.${subjectPart(id)}`;
}

/** Decodes a key of `bucketKey`; undefined for any other key. */
export function bucketKeyParts(key: string): { tenant: string; id: string } | undefined {
  const parts = key.split('.');
  const [tenant, id] = parts.map(partText);
  return parts.length === 2 && tenant !== undefined && id !== undefined ? { tenant, id } : undefined;
}

function partText(part: string): string | undefined {
  if (PLAIN.test(part)) return part;
  if (!PART.test(part)) return undefined;
  const bytes = Array.from(part.matchAll(/=(..)|./g), ([character, code]) =>
    code === undefined ? character.charCodeAt(0) : Number.parseInt(code, 16),
  );
  const text = new TextDecoder().decode(Uint8Array.from(bytes));
  return subjectPart(text) === part ? text : undefined;
}

/** An ordered, replayable record of subjects. */
export interface LogDefinition {
  name: string;
  subjects: readonly string[];
  maxAgeMs: number;
  /** How many of the newest messages of one subject are kept; without it, as many as the log holds. */
  maxPerSubject?: number;
  storage: 'memory' | 'file';
  /** Together all of `subjects`, where they may be kept in several streams, `<name>_0` and on, which share them. */
  parts?: readonly string[];
  /** Number of streams, at most the number of parts. Unset leaves them unchanged; only the provisioning job sets it. */
  streams?: number;
  /** Number of replicas of the stream. Unset leaves it unchanged; only the provisioning job sets it. */
  copies?: number;
}

/** The streams that may hold something of a log. */
export function listStreams({ name, parts }: Pick<LogDefinition, 'name' | 'parts'>): string[] {
  return parts === undefined ? [name] : parts.map((_, at) => `${name}_${at}`);
}

/** Which services have something to do with what the bus keeps; the network holds all others off. */
interface Access {
  writers: readonly ServiceName[];
  readers: readonly ServiceName[];
}

/** The frames of turns, for a client that comes back. A turn that talks without end pushes out its own beginning, not what others said. */
export const TURNS_LOG: LogDefinition & Access = {
  name: 'TURNS',
  subjects: [subjects.turns],
  parts: Array.from({ length: TURN_GROUPS }, (_, group) => subjects.turnGroup(group)),
  maxAgeMs: 600_000,
  maxPerSubject: 10_000,
  storage: 'memory',
  writers: ['sessions'],
  readers: ['gateway', 'sessions'],
};

/** System events, so that a stream resumes by sequence on any replica. Each service writes its own. */
export const EVENTS_LOG: LogDefinition & Access = {
  name: 'EVENTS',
  subjects: [subjects.events],
  maxAgeMs: 86_400_000,
  storage: 'file',
  writers: SERVICES,
  readers: ['gateway', 'observability'],
};

export const LOGS: readonly (LogDefinition & Access)[] = [TURNS_LOG, EVENTS_LOG];

/** Control state that every replica watches. `ttlMs` is how long an entry lives without being written again. */
export interface BucketDefinition {
  name: string;
  ttlMs?: number;
  /** Same as for a log. */
  copies?: number;
}

/** Each live token as the edge sees it, by tenant and id (`bucketKey`). */
export const TOKENS_BUCKET: BucketDefinition & Access = { name: 'tokens', writers: ['secrets'], readers: ['gateway', 'registry'] };
/** Key that is written last when all tokens have been published again. Without it, a missing token may still be valid. */
export const TOKENS_COMPLETE_KEY = 'told';
/** The effective configuration of each agent, by tenant and agent id (`bucketKey`). */
export const AGENTS_BUCKET: BucketDefinition & Access = {
  name: 'agents',
  writers: ['registry'],
  readers: ['graph', 'memory', 'scheduler', 'secrets', 'sessions', 'tools'],
};
/** The tools that appear at run time, of MCP servers and skills: by tenant and agent id (`bucketKey`). */
export const OFFERED_TOOLS_BUCKET: BucketDefinition & Access = { name: 'offered-tools', writers: ['tools'], readers: ['sessions'] };
/** The stored layer of the configuration, under the key `head`. */
export const CONFIG_BUCKET: BucketDefinition & Access = { name: 'config', writers: ['registry'], readers: SERVICES };
/**
 * How much is logged, as `daemon.setLogLevel` said. The registry writes it again while it lives, so that it ends
 * with the installation.
 */
export const LEVELS_BUCKET: BucketDefinition & Access = { name: 'levels', ttlMs: 60_000, writers: ['registry'], readers: SERVICES };
/** Key of the log levels in that bucket. */
export const LEVELS_KEY = 'wish';
/** The restart that goes on, or the last one: who leaves now, and who still waits. */
export const RESTART_BUCKET: BucketDefinition & Access = { name: 'restart', writers: ['registry'], readers: SERVICES };
export const RESTART_KEY = 'rolling';
/** That a secret was set, for those who keep values for a while. Neither its value nor its name. */
export const SECRETS_BUCKET: BucketDefinition & Access = {
  name: 'secrets',
  writers: ['secrets'],
  readers: ['gateway', 'media', 'registry', 'sessions'],
};
export const SECRETS_CHANGED = 'changed';
/** Single-use tickets: by the hash of the ticket, its owner, or a mark that it was used. */
export const TICKETS_BUCKET = {
  name: 'tickets',
  ttlMs: 60_000,
  writers: ['gateway'],
  readers: ['gateway'],
} as const satisfies BucketDefinition & Access;
/** Which revisions each live replica runs, by `<service>.<replica>`: each service writes its own. */
export const REPLICAS_BUCKET: BucketDefinition & Access = { name: 'replicas', ttlMs: 45_000, writers: SERVICES, readers: SERVICES };

export const BUCKETS: readonly (BucketDefinition & Access)[] = [
  TOKENS_BUCKET,
  AGENTS_BUCKET,
  OFFERED_TOOLS_BUCKET,
  CONFIG_BUCKET,
  LEVELS_BUCKET,
  RESTART_BUCKET,
  SECRETS_BUCKET,
  TICKETS_BUCKET,
  REPLICAS_BUCKET,
];
