import type { IncomingMessage } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Rate } from '@switchyard/cache';
import type { TokenScope } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import {
  getAllowedHosts,
  resolveClientAddress,
  parseHostName,
  isOriginAllowed,
  getPeerAddress,
  parseTrustedProxies,
} from './client-address.ts';
import type { GuardOptions } from '../openapi/route-doc.ts';
import { rates, type RateLimits } from './rate-limits.ts';
import { getQueryTicket, getQueryToken } from './query-token.ts';
import { createRateLimitHeaders } from './rate-limit-headers.ts';
import {
  HOST_NOT_ALLOWED,
  ORIGIN_NOT_ALLOWED,
  INSUFFICIENT_SCOPE,
  createRateLimitRefusal,
  refuse,
  getSurface,
  UNAUTHORIZED,
  TOKENS_UNVERIFIABLE,
  TOO_MANY_CONNECTIONS,
  type Refusal,
} from '../request/refusal.ts';
import type { Tickets } from './tickets.ts';
import { parseBearerSecret, type Tokens } from './tokens.ts';
import type { Caller } from '../request/caller.ts';

/** Authenticates and rate-limits requests, for every transport. */
export interface Admission {
  /** Checks the `Host` and `Origin` headers; undefined when both are allowed. */
  checkHostAndOrigin(request: IncomingMessage): Refusal | undefined;
  /** Resolves the caller, or the refusal: 401, 429 after too many failures of the address, 503 while tokens cannot be verified. */
  authenticate(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal;
  /** Redeems the ticket in the query, so that `authenticate` can resolve its caller. Undefined when there is no ticket to redeem. */
  redeemTicket(request: IncomingMessage): Promise<void> | undefined;
  /** Redeems a ticket that a body contains, with the limits of one in the query. Resolves with 401 for a ticket that is not valid. */
  redeemTicketOfBody(request: IncomingMessage, ticket: string): Promise<Caller | Refusal>;
  /** Counts one HTTP request of a client, or of an address without a token. */
  limitRequest(key: string): Refusal | undefined;
  /** Counts the calls of a batch beyond the first, which was counted with its request. */
  limitBatch(key: string, calls: number): Refusal | undefined;
  /** All of the above for one HTTP request. */
  admit(request: IncomingMessage, tokenInQuery?: boolean): Caller | Refusal;
  guard(options: GuardOptions): onRequestHookHandler;
  /** The `x-ratelimit-*` headers of `/v1` for this client, as alternating names and values. */
  getRateLimitHeaders(caller: Caller): string[];
  getClientAddress(request: IncomingMessage): string;
  /** The remote address of a socket; undefined for a trusted proxy. */
  getPeerAddress(socket: Socket): string | undefined;
}

export interface AdmissionOptions {
  settings: Settings<'gateway'>;
  tokens: Tokens;
  tickets: Pick<Tickets, 'redeem'>;
  limits: RateLimits;
  /** The host the listener is bound to. */
  host: string;
  /** Counts a connection as one of this client; false when the client has too many. */
  assignConnection: (socket: Socket, client: string) => boolean;
}

/** Message limit for tokens whose scopes allow no call. Such a client can still request the list of methods. */
const MAX_SCOPELESS_MESSAGE_BYTES = 16_384;

/** The maximum size of a JSON-RPC message of this client; `limit` applies to callers with scope `rpc` or `admin`. */
export function getMaxMessageBytes({ may }: Caller, limit: number): number {
  return may.rpc || may.admin ? limit : Math.min(limit, MAX_SCOPELESS_MESSAGE_BYTES);
}

export function isRefusal(outcome: Caller | Refusal): outcome is Refusal {
  return 'status' in outcome;
}

export function createAdmission({ settings, tokens, tickets, limits, host, assignConnection }: AdmissionOptions): Admission {
  const getPolicy = createHostPolicyCache(settings, host);
  /** The caller of each connection's last request. Comparing the header is faster than hashing the token again. */
  const lastCallers = new WeakMap<Socket, { authorization: string; caller: Caller }>();
  /** The caller of each redeemed ticket, or TOKENS_UNVERIFIABLE when the lookup failed. */
  const redeemedTickets = new WeakMap<IncomingMessage, Caller | Refusal>();

  function checkHostAndOrigin(request: IncomingMessage): Refusal | undefined {
    const { headers } = request;
    const policy = getPolicy();
    const { hosts, origins } = policy;
    if (hosts && headers.host !== policy.lastHost) {
      if (!hosts.has(parseHostName(headers.host) ?? '')) return HOST_NOT_ALLOWED;
      policy.lastHost = headers.host;
    }
    if (headers.origin !== undefined && !isOriginAllowed(headers.origin, headers.host, origins)) return ORIGIN_NOT_ALLOWED;
    return undefined;
  }

  function getClientAddress(request: IncomingMessage): string {
    return resolveClientAddress(request, getPolicy().trusted);
  }

  function redeemTicket(request: IncomingMessage): Promise<void> | undefined {
    const ticket = getQueryTicket(request);
    const { authorization, origin } = request.headers;
    if (ticket === undefined || authorization !== undefined || getQueryToken(request) !== undefined || checkHostAndOrigin(request))
      return undefined;
    return redeemCounted(request, { ticket, origin })?.then((caller) => void (caller && redeemedTickets.set(request, caller)));
  }

  /** Undefined after too many failures of the address. */
  function redeemCounted(
    request: IncomingMessage,
    { ticket, origin }: { ticket: string; origin: string | undefined },
  ): Promise<Caller | Refusal | undefined> | undefined {
    // Failed tickets are counted apart from failed bearer tokens: other clients of the address cannot lock out a valid ticket.
    const failures = `ticket ${getClientAddress(request)}`;
    const rate = rates.authFailures(settings.current.gateway);
    if (limits.authFailures.getRemaining(failures, rate) < 1) return undefined;
    return tickets.redeem(ticket, origin).then(
      (caller) => {
        if (!caller) limits.authFailures.take(failures, rate);
        return caller;
      },
      () => TOKENS_UNVERIFIABLE,
    );
  }

  async function redeemTicketOfBody(request: IncomingMessage, ticket: string): Promise<Caller | Refusal> {
    return (await redeemCounted(request, { ticket, origin: request.headers.origin })) ?? UNAUTHORIZED;
  }

  function authenticate(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal {
    const ticketCaller = tokenInQuery ? redeemedTickets.get(request) : undefined;
    if (ticketCaller) return ticketCaller;
    const { authorization, upgrade } = request.headers;
    const last = lastCallers.get(request.socket);
    if (last && last.authorization === authorization && tokens.isValid(last.caller)) return last.caller;
    const secret = authorization === undefined && tokenInQuery ? getQueryToken(request) : parseBearerSecret(authorization);
    const caller = secret === undefined ? undefined : tokens.authenticate(secret);
    // A WebSocket carries no other HTTP request, and has limits of its own.
    if (caller && upgrade === undefined && !assignConnection(request.socket, caller.key)) return { ...TOO_MANY_CONNECTIONS, caller };
    if (caller && authorization !== undefined && upgrade === undefined) lastCallers.set(request.socket, { authorization, caller });
    if (caller) return caller;
    if (secret !== undefined && !tokens.areVerifiable()) return TOKENS_UNVERIFIABLE;
    const wait = limits.authFailures.take(getClientAddress(request), rates.authFailures(settings.current.gateway));
    return wait === 0 ? UNAUTHORIZED : createRateLimitRefusal(wait);
  }

  function limitRequest(key: string): Refusal | undefined {
    const rate = rates.requests(settings.current.gateway);
    const wait = limits.requests.take(key, rate);
    return wait === 0 ? undefined : createRateRefusal(wait, rate);
  }

  function limitBatch(key: string, calls: number): Refusal | undefined {
    const rate = rates.requests(settings.current.gateway);
    const wait = limits.requests.takeRemaining(key, rate, calls);
    return wait === 0 ? undefined : createRateRefusal(wait, rate);
  }

  function admit(request: IncomingMessage, tokenInQuery = false): Caller | Refusal {
    const hostRefusal = checkHostAndOrigin(request);
    if (hostRefusal) return hostRefusal;
    const caller = authenticate(request, tokenInQuery);
    if (isRefusal(caller)) return caller;
    const refused = limitRequest(caller.key);
    return refused ? { ...refused, caller } : caller;
  }

  function getRateLimitHeaders({ key }: Caller): string[] {
    return createRateLimitHeaders(limits.requests, key, rates.requests(settings.current.gateway));
  }

  function check(request: FastifyRequest, reply: FastifyReply, { scopes, tokenInQuery, open }: GuardOptions): Refusal | undefined {
    if (open) return checkHostAndOrigin(request.raw) ?? limitRequest(getClientAddress(request.raw));
    const isV1 = getSurface(request.url) === 'v1';
    const caller = admit(request.raw, tokenInQuery);
    if (isRefusal(caller)) {
      if (isV1 && caller.caller) setHeaders(reply, getRateLimitHeaders(caller.caller));
      return caller;
    }
    request.caller = caller;
    if (isV1) setHeaders(reply, getRateLimitHeaders(caller));
    return scopes === undefined ? undefined : checkScope(caller, scopes);
  }

  return {
    checkHostAndOrigin,
    authenticate,
    redeemTicket,
    redeemTicketOfBody,
    limitRequest,
    limitBatch,
    getClientAddress,
    getPeerAddress: (socket) => getPeerAddress(socket, getPolicy().trusted),
    admit,
    getRateLimitHeaders,
    guard: (options) => (request, reply, done) => {
      const decide = (): void => {
        const refusal = check(request, reply, options);
        if (refusal) refuse(request, reply, refusal);
        else done();
      };
      const redemption = options.tokenInQuery ? redeemTicket(request.raw) : undefined;
      if (redemption) void redemption.then(decide);
      else decide();
    },
  };
}

/** Returns the refusal unless the caller has one of these scopes. */
export function checkScope(caller: Caller, scopes: readonly TokenScope[]): Refusal | undefined {
  const hasScope = caller.scopes.includes('*') || scopes.some((scope) => caller.scopes.includes(scope));
  return hasScope ? undefined : INSUFFICIENT_SCOPE;
}

function createRateRefusal(wait: number, { max, windowMs }: Rate): Refusal {
  const policy = { 'ratelimit-policy': `"default";q=${max};w=${Math.ceil(windowMs / 1_000)}` };
  if (wait === Number.POSITIVE_INFINITY) return { ...createRateLimitRefusal(undefined, policy), retryable: false };
  const headers = { ...policy, ratelimit: `"default";r=0;t=${Math.ceil(wait / 1_000)}`, 'retry-after-ms': String(Math.ceil(wait)) };
  return createRateLimitRefusal(wait, headers);
}

/** Sets headers given as alternating names and values. */
function setHeaders(reply: FastifyReply, headers: readonly string[]): void {
  for (let index = 1; index < headers.length; index += 2) reply.header(headers[index - 1] ?? '', headers[index]);
}

interface HostPolicy {
  hosts: ReadonlySet<string> | undefined;
  /** The last `Host` header that was allowed, because most requests repeat it. */
  lastHost?: string | undefined;
  origins: readonly string[];
  trusted: BlockList | undefined;
}

/** Derives hosts, origins and trusted proxies once per revision of the settings. */
function createHostPolicyCache(settings: Settings<'gateway'>, host: string): () => HostPolicy {
  let source: unknown;
  let derived: HostPolicy | undefined;
  return () => {
    const { current } = settings;
    if (derived && source === current) return derived;
    source = current;
    const { corsOrigins, trustedProxies } = current.gateway;
    derived = { hosts: getAllowedHosts(host, corsOrigins), origins: corsOrigins, trusted: parseTrustedProxies(trustedProxies) };
    return derived;
  };
}
