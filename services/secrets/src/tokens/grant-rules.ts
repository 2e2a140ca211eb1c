import { ServiceError, isScopeSubset, type McpClient, type Principal, type TokenScope } from '@switchyard/contracts';
import type { TokenDocument } from '../documents/collections.ts';

/** The rights and limits of a token. */
export interface TokenGrant {
  scopes: TokenScope[];
  sessions: 'tenant' | 'own';
  lenient: boolean;
  budgets?: TokenDocument['budgets'];
  /** The agents that it may use; all agents of its tenant if unset. */
  agents?: TokenDocument['agents'];
  expiresAt?: TokenDocument['expiresAt'];
  /** For the scope `mcp-client`: its rights at `/mcp`. */
  mcpClient?: McpClient;
}

/** The part of a grant that is compared when tokens create or revoke tokens. */
export type ComparableGrant = Pick<TokenDocument, 'scopes' | 'sessions' | 'budgets' | 'agents' | 'expiresAt'>;

type StoredGrant = Pick<TokenDocument, 'scopes'> & {
  [K in 'sessions' | 'lenient' | 'budgets' | 'agents' | 'expiresAt' | 'mcpClient']?: TokenDocument[K] | undefined;
};

/** Fills in the defaults. */
export function readGrant({
  scopes,
  sessions = 'tenant',
  lenient = false,
  budgets,
  agents,
  expiresAt,
  mcpClient,
}: StoredGrant): TokenGrant {
  return {
    scopes,
    sessions,
    lenient,
    ...(budgets && { budgets }),
    ...(agents && { agents }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(mcpClient && { mcpClient }),
  };
}

const LIMITS = ['budgets', 'agents', 'expiresAt', 'mcpClient'] as const;

/** The limits that are not set. A new token under a reused id must not inherit them. */
export function listUnsetLimits(grant: TokenGrant): (typeof LIMITS)[number][] {
  return LIMITS.filter((limit) => grant[limit] === undefined);
}

/** Why the grant contradicts itself; undefined if it is valid. */
export function findContradiction({ scopes, mcpClient, agents }: Pick<TokenGrant, 'scopes' | 'mcpClient' | 'agents'>): string | undefined {
  if (mcpClient && !scopes.includes('mcp-client')) return 'mcpClient: expected the scope mcp-client, got other scopes';
  if (agents && managesTokens(scopes)) return 'agents: expected no scope admin or *, because these apply to every agent';
  return undefined;
}

/** A caller cannot grant more than its own rights. The scope `mcp-client` cannot be combined with others. */
export function checkGrant({ scopes, sessions }: ComparableGrant, principal: Principal): void {
  if (scopes.includes('mcp-client') && scopes.length > 1) {
    throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: scopes: expected mcp-client as the only scope, got further scopes');
  }
  if (!isScopeSubset(scopes, principal.scopes)) throw grantForbidden(`its scopes are ${scopes.join(', ')}, and your token has fewer`);
  if (sessions !== 'own' && principal.sessions === 'own')
    throw grantForbidden('it can access all sessions, and your token is limited to its own (sessions: "own")');
}

/** A caller with budgets or an agent list could escape its limits with the secret of another token. */
export function rejectLimitedCaller({ budgets, agents }: Principal): void {
  if (budgets !== undefined) throw grantForbidden('your token has budgets, and the other token has different ones');
  if (agents !== undefined) throw grantForbidden('your token is limited to agents, and the other token is not');
}

/** A caller could outlive its expiry with the secret of a token that expires later. */
export function rejectLongerLifetime(expiresAt: number | undefined, callerExpiry: number | undefined): void {
  if (getExpiry({ expiresAt }) <= getExpiry({ expiresAt: callerExpiry })) return;
  throw grantForbidden(
    `your token expires at ${new Date(callerExpiry ?? 0).toISOString()}, and it would expire later; choose an earlier expiresAt`,
  );
}

function grantForbidden(reason: string): ServiceError {
  return new ServiceError('PERMISSION_DENIED', `A token cannot grant, change or revoke a token with more rights than its own: ${reason}.`, {
    details: { reason: 'FORBIDDEN' },
  });
}

/** Whether a token with these scopes can manage tokens. */
export function managesTokens(scopes: readonly TokenScope[]): boolean {
  return scopes.includes('*') || scopes.includes('admin');
}

/** Whether a client with the first token could create the second. */
export function canCreate(creator: ComparableGrant, created: ComparableGrant): boolean {
  if (!managesTokens(creator.scopes) || creator.budgets !== undefined || creator.agents !== undefined) return false;
  const coversRights = isScopeSubset(created.scopes, creator.scopes) && (creator.sessions !== 'own' || created.sessions === 'own');
  return coversRights && getExpiry(created) <= getExpiry(creator);
}

function getExpiry({ expiresAt = Infinity }: Pick<ComparableGrant, 'expiresAt'>): number {
  return expiresAt;
}

export function isExpired(token: Pick<ComparableGrant, 'expiresAt'>, now: number): boolean {
  return getExpiry(token) <= now;
}

export const FULL_GRANT: TokenGrant = { scopes: ['*'], sessions: 'tenant', lenient: false };

/** The client id of a token: its id, with a counter for a token under a reused id (`=` is invalid in ids). */
export function getClientId({ id, earlier = 0 }: TokenDocument): string {
  return earlier === 0 ? id : `${id}=${earlier + 1}`;
}

/** The token id of a client id. */
export function getTokenId(client: string): string {
  return client.split('=', 1)[0] ?? client;
}

export function tokenNotFound(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The token ${id} does not exist.`);
}

/** A declared token is changed where it is declared; another change would be undone by the next start. */
export function rejectDeclared({ id, declared }: TokenDocument, verb: 'rotated' | 'revoked'): void {
  if (declared === undefined) return;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `The token ${id} is declared in ${declared}. Change the declaration and restart; it cannot be ${verb} here.`,
    {
      details: { reason: 'DECLARED', declared },
    },
  );
}
