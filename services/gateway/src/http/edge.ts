import type { IncomingMessage } from 'node:http';
import type { BlobStore } from '@switchyard/blob';
import type { Bus } from '@switchyard/bus';
import type { Settings } from '@switchyard/service-kit';
import type { Logger, Span } from '@switchyard/telemetry';
import type { onRequestHookHandler } from 'fastify';
import type { FollowedDashboard } from '../dashboard/dashboard-source.ts';
import type { GuardOptions, RouteDoc } from '../openapi/route-doc.ts';
import type { Tickets } from '../auth/tickets.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { Caller } from '../request/caller.ts';
import type { Limits } from '../auth/rate-limits.ts';
import type { HookKeys } from '../auth/webhook-keys.ts';
import type { FailureLog } from '../request/failure-log.ts';
import type { Refusal } from '../request/refusal.ts';

/** The sections of the configuration that the edge reads. */
export type EdgeSections = 'gateway' | 'webhooks' | 'tenantId';

/** What a route gets. Each file of `routes/` exports a function `registerX(app, edge)` that adds its own. */
export interface Edge {
  /** Speaks for the gateway itself: use `bus.as(request.caller.principal)` for a caller. */
  readonly bus: Bus;
  /** Always current; read `settings.current.gateway` at each use. */
  readonly settings: Settings<EdgeSections>;
  readonly log: Logger;
  /** For errors that a client is shown otherwise than by what a route throws. */
  readonly failures: FailureLog;
  readonly tokens: Tokens;
  readonly tickets: Pick<Tickets, 'make'>;
  readonly hookKeys: HookKeys;
  /** What stands under `/app/`; undefined where there is none. */
  readonly dashboard: Pick<FollowedDashboard, 'current'>;
  /** Opened when it is first asked for. */
  readonly blobs: () => Promise<BlobStore>;
  readonly limits: Limits;
  /** Aborts when the gateway is told to stop: it still serves, and says that nobody should be sent here any more. */
  readonly draining: AbortSignal;
  /** Aborts when it stops taking connections: long responses end themselves, so that their clients come back elsewhere. */
  readonly closing: AbortSignal;
  /** Aborts when there is no time left for what still runs: whoever waits for something else than a call answers now. */
  readonly ending: AbortSignal;
  /** An `onRequest` hook: authenticates, limits the rate, checks the scope, sets `request.caller`, or answers the refusal. */
  guard(options: GuardOptions): onRequestHookHandler;
  /** Where a request comes from. */
  addressOf(request: IncomingMessage): string;
  /** The options of a route: its guard, and what documents say of it. */
  route(doc: RouteDoc): { onRequest: onRequestHookHandler; config: { doc: RouteDoc } };
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Writes down that a request ended so, and what stood behind it. */
    noteRefusal(request: FastifyRequest, refusal: Refusal, error: unknown): void;
  }
  interface FastifyRequest {
    /** Set by the guard of the route. */
    caller: Caller;
    /** Set while telemetry is on. */
    span: Span | undefined;
  }
}
