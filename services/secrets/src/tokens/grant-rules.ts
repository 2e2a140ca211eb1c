import { ServiceError, isScopeSubset, type McpClient, type Principal, type TokenScope } from '@switchyard/contracts';
import type { TokenDocument } from '../documents/collections.ts';

/** What a token may do. */
export interface Granted {
  scopes: TokenScope[];
  sessions: 'tenant' | 'own';
  lenient: boolean;
  budgets?: TokenDocument['budgets'];
  /** The agents that it is held to; without it, all of its tenant. */
  agents?: TokenDocument['agents'];
  /** From then on it opens nothing. */
  expiresAt?: TokenDocument['expiresAt'];
  /** Of the scope `mcp-client`: what it may do at `/mcp`. */
  mcpClient?: McpClient;
}

/** The part of it that is power: leniency is none. */
export type Grant = Pick<TokenDocument, 'scopes' | 'sessions' | 'budgets' | 'agents' | 'expiresAt'>;

type Written = Pick<TokenDocument, 'scopes'> & {
  [K in 'sessions' | 'lenient' | 'budgets' | 'agents' | 'expiresAt' | 'mcpClient']?: TokenDocument[K] | undefined;
};

/** With what is left out as it is meant. */
export function grantOf({ scopes, sessions = 'tenant', lenient = false, budgets, agents, expiresAt, mcpClient }: Written): Granted {
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

/** What was not said of a token: it is taken from whoever had the id before. */
export function unsaid(granted: Granted): (typeof LIMITS)[number][] {
  return LIMITS.filter((limit) => granted[limit] === undefined);
}

/** Why this cannot be granted; undefined when it can. */
export function contradiction({ scopes, mcpClient, agents }: Pick<Granted, 'scopes' | 'mcpClient' | 'agents'>): string | undefined {
  if (mcpClient && !scopes.includes('mcp-client')) return 'mcpClient: expected the scope mcp-client beside it, got other scopes';
  if (agents && managesTokens(scopes)) return 'agents: expected no scope admin or * beside it, which hold for every agent';
  return undefined;
}

/** Nobody grants more than they hold, and `mcp-client` stands alone. */
export function checkGrant({ scopes, sessions }: Grant, principal: Principal): void {
  if (scopes.includes('mcp-client') && scopes.length > 1) {
    throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: scopes: expected mcp-client alone, got other scopes beside it');
  }
  if (!isScopeSubset(scopes, principal.scopes)) throw forbidden(`its scopes are ${scopes.join(', ')}, and yours are fewer`);
  if (sessions !== 'own' && principal.sessions === 'own')
    throw forbidden('it is not held to its own sessions (sessions: "own"), and yours is');
}

/** With the secret of another token whoever has budgets, or is held to agents, would have what that one has. */
export function refuseLimited({ budgets, agents }: Principal): void {
  if (budgets !== undefined) throw forbidden('yours has budgets, and would be given a secret that has others');
  if (agents !== undefined) throw forbidden('yours is held to agents, and would be given a secret that is not');
}

/** Whose token ends would go on with the secret of one that lives longer. */
export function refuseOutliving(expiresAt: number | undefined, own: number | undefined): void {
  if (lifetime({ expiresAt }) <= lifetime({ expiresAt: own })) return;
  throw forbidden(`yours expires at ${new Date(own ?? 0).toISOString()}, and it would live longer; name an earlier expiresAt`);
}

function forbidden(why: string): ServiceError {
  return new ServiceError('PERMISSION_DENIED', `Nobody grants, changes or revokes a token that holds more than their own: ${why}.`, {
    details: { reason: 'FORBIDDEN' },
  });
}

/** Whether a token with these scopes can manage tokens. */
export function managesTokens(scopes: readonly TokenScope[]): boolean {
  return scopes.includes('*') || scopes.includes('admin');
}

/** Whether the holder of one token could make the other. */
export function couldMake(maker: Grant, made: Grant): boolean {
  if (!managesTokens(maker.scopes) || maker.budgets !== undefined || maker.agents !== undefined) return false;
  const wide = isScopeSubset(made.scopes, maker.scopes) && (maker.sessions !== 'own' || made.sessions === 'own');
  return wide && lifetime(made) <= lifetime(maker);
}

function lifetime({ expiresAt = Infinity }: Pick<Grant, 'expiresAt'>): number {
  return expiresAt;
}

export function isExpired(token: Pick<Grant, 'expiresAt'>, now: number): boolean {
  return lifetime(token) <= now;
}

/** Everything there is to grant. */
export const EVERYTHING: Granted = { scopes: ['*'], sessions: 'tenant', lenient: false };

/** Who a token speaks for: its id, and for one made again under an old id something that no id can be. */
export function clientOf({ id, earlier = 0 }: TokenDocument): string {
  return earlier === 0 ? id : `${id}=${earlier + 1}`;
}

export function noSuchToken(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no token ${id}.`);
}

/** What is declared somewhere is changed there, or it would come back with the next start. */
export function refuseDeclared({ id, declared }: TokenDocument, verb: 'rotated' | 'revoked'): void {
  if (declared === undefined) return;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `The token ${id} is declared in ${declared}: it is ${verb} there, and the next start takes it over.`,
    {
      details: { reason: 'DECLARED', declared },
    },
  );
}
