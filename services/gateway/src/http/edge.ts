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
import type { RateLimits } from '../auth/rate-limits.ts';
import type { WebhookKeys } from '../auth/webhook-keys.ts';
import type { FailureLog } from '../request/failure-log.ts';
import type { Refusal } from '../request/refusal.ts';

/** The configuration sections that the gateway reads. */
export type EdgeSections = 'gateway' | 'webhooks' | 'tenantId';

/** The dependencies of routes. Each route file exports a function `registerX(app, edge)`. */
export interface Edge {
  /** Calls as the gateway itself. Use `bus.as(request.caller.principal)` for a caller. */
  readonly bus: Bus;
  /** Read `settings.current.gateway` at each use, because settings change at run time. */
  readonly settings: Settings<EdgeSections>;
  readonly log: Logger;
  /** For errors that are sent to a client without being thrown by a route. */
  readonly failures: FailureLog;
  readonly tokens: Tokens;
  readonly tickets: Pick<Tickets, 'issue'>;
  readonly webhookKeys: WebhookKeys;
  /** The files under `/app/`. */
  readonly dashboard: Pick<FollowedDashboard, 'current' | 'isBundled' | 'isBuilding'>;
  /** Opens the blob store on first use. */
  readonly blobs: () => Promise<BlobStore>;
  readonly limits: RateLimits;
  /** Aborts when the gateway starts to drain. It still serves requests, and `/readyz` reports draining. */
  readonly draining: AbortSignal;
  /** Aborts when the gateway stops accepting connections. Long responses end, so that their clients reconnect to another gateway. */
  readonly closing: AbortSignal;
  /** Aborts at the drain timeout. Routes that wait for something other than a call return an error. */
  readonly ending: AbortSignal;
  /** An `onRequest` hook that authenticates, applies rate limits, checks scopes and sets `request.caller`, or sends the refusal. */
  guard(options: GuardOptions): onRequestHookHandler;
  /** Redeems a ticket of a body. Resolves with the refusal for a ticket that is not valid. */
  redeemTicket(request: IncomingMessage, ticket: string): Promise<Caller | Refusal>;
  /** The address of the client. */
  getClientAddress(request: IncomingMessage): string;
  /** The Fastify options of a route: its guard and its documentation. */
  route(doc: RouteDoc): { onRequest: onRequestHookHandler; config: { doc: RouteDoc } };
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Logs a refusal and its cause. */
    logRefusal(request: FastifyRequest, refusal: Refusal, error: unknown): void;
  }
  interface FastifyRequest {
    /** Set by the guard. */
    caller: Caller;
    /** Set while telemetry is enabled. */
    span: Span | undefined;
  }
}
