import type { Ctx } from '@switchyard/bus';
import { ServiceError, type EventPayload, type Principal } from '@switchyard/contracts';
import { matchesGlob } from '@switchyard/security';
import type { Store } from '@switchyard/store';

/** Of what happens again and again, so much is told: one of a kind in this time. */
const QUIET_MS = 60_000;
const MOST_KINDS = 10_000;

/** What opens the house itself: kept by nobody but who runs it, and read by no service. */
const HOUSE = /^(SECRETS_MASTER_KEY|SWITCHYARD_)/;

export function isHouseSecret(name: string): boolean {
  return HOUSE.test(name);
}

/** Which names an agent may read; undefined for an agent that nobody knows. */
export type Allowed = (tenant: string, agentId: string) => readonly string[] | undefined;

/** Lets through who may read a secret: services for themselves, an agent what its list names. An empty list names none. */
export function checkReader({ tenant, agent }: Principal, name: string, allowed: Allowed): void {
  if (agent === undefined || (allowed(tenant, agent) ?? []).some((pattern) => matchesGlob(pattern, name))) return;
  throw new ServiceError('PERMISSION_DENIED', `agents.${agent}.secrets.allow does not name ${name}`, {
    details: { reason: 'SECRET_NOT_ALLOWED' },
  });
}

type Outcome = EventPayload<'secret:accessed'>['outcome'];

/** Tells who read what, or asked in vain: once a minute of the same, because who needs a key asks for it all day. */
export function createTeller(store: Pick<Store, 'now'>): (ctx: Pick<Ctx, 'emit' | 'principal'>, name: string, outcome: Outcome) => void {
  const told = new Map<string, number>();
  return (ctx, name, outcome) => {
    const { tenant, client, agent } = ctx.principal;
    const kind = JSON.stringify([tenant, client, agent, name, outcome]);
    const now = store.now();
    if (now - (told.get(kind) ?? -Infinity) < QUIET_MS) return;
    if (told.size >= MOST_KINDS) told.clear();
    told.set(kind, now);
    ctx.emit('secret:accessed', { secretName: name, ...(agent === undefined ? {} : { agentId: agent }), outcome, timestamp: now });
  };
}
