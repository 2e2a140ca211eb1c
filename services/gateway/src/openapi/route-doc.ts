import type { TokenScope } from '@switchyard/contracts';
import type { z } from 'zod';

/** Access rules of a route. */
export interface GuardOptions {
  /** One of these scopes is enough, `*` always is; without a list any valid token passes. */
  scopes?: readonly TokenScope[];
  /** Whether `?token=` and `?ticket=` count: only where a browser cannot set a header. */
  tokenInQuery?: boolean;
  /** Allows requests without a token, limited per address; the route checks the caller itself. */
  open?: true;
}

/** Declaration of a route. The guard, the OpenAPI document and the tests are derived from it. */
export interface RouteDoc extends GuardOptions {
  summary: string;
  description?: string;
  /** Tag in the document; derived from the path if unset. */
  tag?: 'webhooks';
  /** Name of the wildcard parameter of the path. */
  wildcard?: string;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** A request that is right. The documents show it, and a test sends it. */
  example?: { query?: Readonly<Record<string, string>>; body?: unknown };
  /** Successful responses by status. */
  answers: Readonly<Record<number, AnswerDoc>>;
  /** Statuses of refusals that are not those of all routes. */
  refusals?: readonly number[];
}

export interface AnswerDoc {
  description: string;
  /** Of JSON. */
  schema?: z.ZodType;
  /** Content type of other responses. */
  type?: 'text/event-stream' | 'text/plain' | 'application/json' | 'application/octet-stream';
}

/** A route as the server has it. */
export interface Route {
  verb: string;
  path: string;
  /** Undefined for routes that clients do not call directly. */
  doc: RouteDoc | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    doc?: RouteDoc;
  }
}
