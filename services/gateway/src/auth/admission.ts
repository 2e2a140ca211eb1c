import type { IncomingMessage } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Rate } from '@switchyard/cache';
import type { TokenScope } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { allowedHosts, clientAddress, hostName, originAllowed, peerAddress, trustedList } from './client-address.ts';
import type { GuardOptions } from '../openapi/route-doc.ts';
import { rates, type Limits } from './rate-limits.ts';
import { queryTicket, queryToken } from './query-token.ts';
import { rateHeaders } from './rate-limit-headers.ts';
import {
  FOREIGN_HOST,
  FOREIGN_ORIGIN,
  INSUFFICIENT_SCOPE,
  rateLimited,
  refuse,
  surfaceOf,
  UNAUTHORIZED,
  UNVOUCHED,
  type Refusal,
} from '../request/refusal.ts';
import type { Tickets } from './tickets.ts';
import { bearerSecret, type Tokens } from './tokens.ts';
import type { Caller } from '../request/caller.ts';

/** Decides who gets in; the same for every transport. */
export interface Admission {
  /** Whether a browser's page may talk to us from where it is; undefined when it may. */
  screen(request: IncomingMessage): Refusal | undefined;
  /** Who is asking, or why they are turned away: 401, 429 once their address has failed too often, 503 while nobody can tell. */
  identify(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal;
  /**
   * Spends the ticket that stands in the query, where it stands for a token; then `identify` knows whose it is. Undefined where there
   * is nothing to wait for.
   */
  spend(request: IncomingMessage): Promise<void> | undefined;
  /** Counts one HTTP request of a client, or of an address that has no client. */
  limit(key: string): Refusal | undefined;
  /** Counts the calls of a batch beyond the first, which came with its request. */
  limitBatch(key: string, calls: number): Refusal | undefined;
  /** All of the above for one HTTP request, whatever it wants. */
  admit(request: IncomingMessage, tokenInQuery?: boolean): Caller | Refusal;
  guard(options: GuardOptions): onRequestHookHandler;
  /** How much of its rate the client has left, as headers of `/v1`: names and values in turn. */
  standing(caller: Caller): string[];
  addressOf(request: IncomingMessage): string;
  /** Who is at the other end of a socket; undefined for a trusted proxy. */
  peerOf(socket: Socket): string | undefined;
}

export interface AdmissionOptions {
  settings: Settings<'gateway'>;
  tokens: Tokens;
  tickets: Pick<Tickets, 'spend'>;
  limits: Limits;
  /** The host the listener is bound to. */
  host: string;
}

/** The largest message of a client whose token has no scope to call anything: it can still ask for the list of methods. */
const SCOPELESS_BYTES = 16_384;

/** How large a JSON-RPC message of the client may be, where `limit` holds for those who may call something. */
export function messageLimit({ may }: Caller, limit: number): number {
  return may.rpc || may.admin ? limit : Math.min(limit, SCOPELESS_BYTES);
}

export function isRefusal(outcome: Caller | Refusal): outcome is Refusal {
  return 'status' in outcome;
}

export function createAdmission({ settings, tokens, tickets, limits, host }: AdmissionOptions): Admission {
  const derived = derive(settings, host);
  /** The caller of each connection's last request. Comparing the header with it is faster than hashing the token again. */
  const presented = new WeakMap<Socket, { authorization: string; caller: Caller }>();
  /** Whom the ticket of a request stood for; UNVOUCHED where nobody could say. */
  const spent = new WeakMap<IncomingMessage, Caller | Refusal>();

  function screen(request: IncomingMessage): Refusal | undefined {
    const { headers } = request;
    const known = derived();
    const { hosts, origins } = known;
    if (hosts && headers.host !== known.lastHost) {
      if (!hosts.has(hostName(headers.host) ?? '')) return FOREIGN_HOST;
      known.lastHost = headers.host;
    }
    if (headers.origin !== undefined && !originAllowed(headers.origin, headers.host, origins)) return FOREIGN_ORIGIN;
    return undefined;
  }

  function addressOf(request: IncomingMessage): string {
    return clientAddress(request, derived().trusted);
  }

  function spend(request: IncomingMessage): Promise<void> | undefined {
    const ticket = queryTicket(request);
    const { authorization, origin } = request.headers;
    if (ticket === undefined || authorization !== undefined || queryToken(request) !== undefined || screen(request)) return undefined;
    // Whoever guesses is not looked up any more.
    if (limits.authFailures.left(addressOf(request), rates.authFailures(settings.current.gateway)) < 1) return undefined;
    return tickets.spend(ticket, origin).then(
      (caller) => void (caller && spent.set(request, caller)),
      () => void spent.set(request, UNVOUCHED),
    );
  }

  function identify(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal {
    const bought = tokenInQuery ? spent.get(request) : undefined;
    if (bought) return bought;
    const { authorization, upgrade } = request.headers;
    const last = presented.get(request.socket);
    if (last && last.authorization === authorization && tokens.valid(last.caller)) return last.caller;
    const secret = authorization === undefined && tokenInQuery ? queryToken(request) : bearerSecret(authorization);
    const caller = secret === undefined ? undefined : tokens.authenticate(secret);
    // What becomes a WebSocket sends no other request.
    if (caller && authorization !== undefined && upgrade === undefined) presented.set(request.socket, { authorization, caller });
    if (caller) return caller;
    if (secret !== undefined && !tokens.sound()) return UNVOUCHED;
    const wait = limits.authFailures.take(addressOf(request), rates.authFailures(settings.current.gateway));
    return wait === 0 ? UNAUTHORIZED : rateLimited(wait);
  }

  function limit(key: string): Refusal | undefined {
    const rate = rates.requests(settings.current.gateway);
    const wait = limits.requests.take(key, rate);
    return wait === 0 ? undefined : overRate(wait, rate);
  }

  function limitBatch(key: string, calls: number): Refusal | undefined {
    const rate = rates.requests(settings.current.gateway);
    const wait = limits.requests.takeRest(key, rate, calls);
    return wait === 0 ? undefined : overRate(wait, rate);
  }

  function admit(request: IncomingMessage, tokenInQuery = false): Caller | Refusal {
    const foreign = screen(request);
    if (foreign) return foreign;
    const caller = identify(request, tokenInQuery);
    if (isRefusal(caller)) return caller;
    const refused = limit(caller.key);
    return refused ? { ...refused, caller } : caller;
  }

  function standing({ key }: Caller): string[] {
    return rateHeaders(limits.requests, key, rates.requests(settings.current.gateway));
  }

  function check(request: FastifyRequest, reply: FastifyReply, { scopes, tokenInQuery, open }: GuardOptions): Refusal | undefined {
    const { origin } = request.headers;
    if (open) return screen(request.raw) ?? limit(addressOf(request.raw));
    if (origin !== undefined && request.url.startsWith('/api/') && !screen(request.raw)) allowOrigin(reply, origin);
    const isV1 = surfaceOf(request.url) === 'v1';
    const caller = admit(request.raw, tokenInQuery);
    if (isRefusal(caller)) {
      if (isV1 && caller.caller) setAll(reply, standing(caller.caller));
      return caller;
    }
    request.caller = caller;
    if (isV1) setAll(reply, standing(caller));
    return scopes === undefined ? undefined : lacksScope(caller, scopes);
  }

  return {
    screen,
    identify,
    spend,
    limit,
    limitBatch,
    addressOf,
    peerOf: (socket) => peerAddress(socket, derived().trusted),
    admit,
    standing,
    guard: (options) => (request, reply, done) => {
      const decide = (): void => {
        const refusal = check(request, reply, options);
        if (refusal) refuse(request, reply, refusal);
        else done();
      };
      const spending = options.tokenInQuery ? spend(request.raw) : undefined;
      if (spending) void spending.then(decide);
      else decide();
    },
  };
}

/** Why a caller may not use what needs one of these scopes; undefined when it may. */
export function lacksScope(caller: Caller, scopes: readonly TokenScope[]): Refusal | undefined {
  const held = caller.scopes.includes('*') || scopes.some((scope) => caller.scopes.includes(scope));
  return held ? undefined : INSUFFICIENT_SCOPE;
}

function overRate(wait: number, { max, windowMs }: Rate): Refusal {
  const policy = { 'ratelimit-policy': `"default";q=${max};w=${Math.ceil(windowMs / 1_000)}` };
  if (wait === Number.POSITIVE_INFINITY) return { ...rateLimited(undefined, policy), retryable: false };
  const told = { ...policy, ratelimit: `"default";r=0;t=${Math.ceil(wait / 1_000)}`, 'retry-after-ms': String(Math.ceil(wait)) };
  return rateLimited(wait, told);
}

/** Names and values in turn. */
function setAll(reply: FastifyReply, headers: readonly string[]): void {
  for (let at = 1; at < headers.length; at += 2) reply.header(headers[at - 1] ?? '', headers[at]);
}

/** Lets a page that `screen` accepted read the answer. */
export function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.headers({ 'access-control-allow-origin': origin, vary: 'Origin', 'access-control-expose-headers': 'X-Request-Id, Retry-After' });
}

interface Derived {
  hosts: ReadonlySet<string> | undefined;
  /** A `Host` header that was found good: most requests repeat it. */
  lastHost?: string | undefined;
  origins: readonly string[];
  trusted: BlockList | undefined;
}

/** What follows from the settings, worked out once per revision of them. */
function derive(settings: Settings<'gateway'>, host: string): () => Derived {
  let from: unknown;
  let derived: Derived | undefined;
  return () => {
    const { current } = settings;
    if (derived && from === current) return derived;
    from = current;
    const { corsOrigins, trustedProxies } = current.gateway;
    derived = { hosts: allowedHosts(host, corsOrigins), origins: corsOrigins, trusted: trustedList(trustedProxies) };
    return derived;
  };
}
