import type { Ctx } from '@switchyard/bus';
import { ServiceError, type EventPayload, type Principal } from '@switchyard/contracts';
import { matchesGlob } from '@switchyard/security';
import type { Store } from '@switchyard/store';
import { LRUCache } from 'lru-cache';

/** Minimum interval between two events about the same reader, secret and outcome. */
const EVENT_INTERVAL_MS = 60_000;
const MAX_RECENT_EVENTS = 10_000;

/** Names that configure the installation itself. They are never stored and never returned to services. */
const RESERVED_NAME = /^(SECRETS_MASTER_KEY|SWITCHYARD_)/;

export function isReservedName(name: string): boolean {
  return RESERVED_NAME.test(name);
}

/** Returns the name patterns that an agent may read; undefined for an unknown agent. */
export type AgentAllowlist = (tenant: string, agentId: string) => readonly string[] | undefined;

interface ReadRules {
  allowlist: AgentAllowlist;
  /** The tenant of the installation, to which all secrets belong. */
  tenantId: string;
}

/** Throws unless the caller may read the secret. Services may read all; agents of the installation's tenant names on their allowlist. */
export function checkReadAccess({ tenant, agent }: Principal, name: string, { allowlist, tenantId }: ReadRules): void {
  if (agent === undefined) return;
  if (tenant === tenantId && (allowlist(tenant, agent) ?? []).some((pattern) => matchesGlob(pattern, name))) return;
  throw new ServiceError('PERMISSION_DENIED', `agents.${agent}.secrets.allow does not include ${name}`, {
    details: { reason: 'SECRET_NOT_ALLOWED' },
  });
}

type Outcome = EventPayload<'secret:accessed'>['outcome'];

/** Emits `secret:accessed` at most once a minute for each reader, secret and outcome: a service reads the same key all day. */
export function createAccessReporter(
  store: Pick<Store, 'now'>,
): (ctx: Pick<Ctx, 'emit' | 'principal'>, name: string, outcome: Outcome) => void {
  const recent = new LRUCache<string, true>({ max: MAX_RECENT_EVENTS, ttl: EVENT_INTERVAL_MS, ttlResolution: 0, perf: store });
  return (ctx, name, outcome) => {
    const { tenant, client, agent } = ctx.principal;
    const key = JSON.stringify([tenant, client, agent, name, outcome]);
    if (recent.has(key)) return;
    recent.set(key, true);
    const timestamp = store.now();
    ctx.emit('secret:accessed', { secretName: name, ...(agent === undefined ? {} : { agentId: agent }), outcome, timestamp });
  };
}
