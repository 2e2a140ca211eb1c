import type { IncomingMessage } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Settings } from '@switchyard/service-kit';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { allowedHosts, clientAddress, hostName, originAllowed, trustedList } from './address.ts';
import type { GuardOptions } from '../edge.ts';
import type { Limits, Rate, RateLimiter } from './limits.ts';
import { queryToken } from './query-token.ts';
import {
  FOREIGN_HOST,
  FOREIGN_ORIGIN,
  INSUFFICIENT_SCOPE,
  rateLimited,
  refuse,
  UNAUTHORIZED,
  UNVOUCHED,
  type Refusal,
} from '../server/refusal.ts';
import { bearerSecret, type Caller, type Tokens } from './tokens.ts';

/** Decides who gets in; the same for every transport. */
export interface Admission {
  /** Whether a browser's page may talk to us from where it is; undefined when it may. */
  screen(request: IncomingMessage): Refusal | undefined;
  /** Who is asking, or why they are turned away: 401, 429 once their address has failed too often, 503 while nobody can tell. */
  identify(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal;
  /** Counts one HTTP request of a client, or of an address that has no client. */
  limit(key: string): Refusal | undefined;
  /** All of the above for one HTTP request, whatever it wants. */
  admit(request: IncomingMessage, tokenInQuery?: boolean): Caller | Refusal;
  guard(options: GuardOptions): onRequestHookHandler;
  addressOf(request: IncomingMessage): string;
}

export interface AdmissionOptions {
  settings: Settings<'gateway'>;
  tokens: Tokens;
  limits: Limits;
  /** The host the listener is bound to. */
  host: string;
}

export function isRefusal(outcome: Caller | Refusal): outcome is Refusal {
  return 'status' in outcome;
}

export function createAdmission({ settings, tokens, limits, host }: AdmissionOptions): Admission {
  const derived = derive(settings, host);
  /** A connection presents one token over and over; that it is the same again is quicker seen than whose it is. */
  const presented = new WeakMap<Socket, { authorization: string; caller: Caller }>();

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

  function identify(request: IncomingMessage, tokenInQuery: boolean): Caller | Refusal {
    const { authorization } = request.headers;
    const last = presented.get(request.socket);
    if (last && last.authorization === authorization && tokens.valid(last.caller)) return last.caller;
    const secret = authorization === undefined && tokenInQuery ? queryToken(request) : bearerSecret(authorization);
    const caller = secret === undefined ? undefined : tokens.authenticate(secret);
    if (caller && authorization !== undefined) presented.set(request.socket, { authorization, caller });
    if (caller) return caller;
    if (secret !== undefined && !tokens.sound()) return UNVOUCHED;
    const { maxFailures: max, windowMs } = settings.current.gateway.authFailures;
    const wait = limits.authFailures.take(addressOf(request), { max, windowMs });
    return wait === 0 ? UNAUTHORIZED : rateLimited(wait);
  }

  function limit(key: string): Refusal | undefined {
    const { maxRequests: max, windowMs } = settings.current.gateway.rateLimit;
    return limitRequests(limits.requests, key, { max, windowMs });
  }

  function admit(request: IncomingMessage, tokenInQuery = false): Caller | Refusal {
    const foreign = screen(request);
    if (foreign) return foreign;
    const caller = identify(request, tokenInQuery);
    if (isRefusal(caller)) return caller;
    return limit(caller.key) ?? caller;
  }

  function check(request: FastifyRequest, reply: FastifyReply, { scopes, tokenInQuery }: GuardOptions): Refusal | undefined {
    const { origin } = request.headers;
    if (origin !== undefined && request.url.startsWith('/api/') && !screen(request.raw)) allowOrigin(reply, origin);
    const caller = admit(request.raw, tokenInQuery);
    if (isRefusal(caller)) return caller;
    request.caller = caller;
    const held = scopes === undefined || caller.scopes.includes('*') || scopes.some((scope) => caller.scopes.includes(scope));
    return held ? undefined : INSUFFICIENT_SCOPE;
  }

  return {
    screen,
    identify,
    limit,
    addressOf,
    admit,
    guard: (options) => (request, reply, done) => {
      const refusal = check(request, reply, options);
      if (refusal) refuse(request, reply, refusal);
      else done();
    },
  };
}

function limitRequests(requests: RateLimiter, key: string, rate: Rate): Refusal | undefined {
  const wait = requests.take(key, rate);
  if (wait === 0) return undefined;
  const seconds = Math.ceil(wait / 1_000);
  return rateLimited(wait, {
    'ratelimit-policy': `"default";q=${rate.max};w=${Math.ceil(rate.windowMs / 1_000)}`,
    ratelimit: `"default";r=0;t=${seconds}`,
  });
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
