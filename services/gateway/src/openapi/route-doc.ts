import type { TokenScope } from '@switchyard/contracts';
import type { z } from 'zod';

/** Who may use a route. */
export interface GuardOptions {
  /** One of these scopes is enough, `*` always is; without a list any valid token passes. */
  scopes?: readonly TokenScope[];
  /** Whether `?token=` and `?ticket=` count: only where a browser cannot set a header. */
  tokenInQuery?: boolean;
  /** Whether anybody may ask without a token, at the rate of their address; the route itself says who that is. */
  open?: true;
}

/** What a route says of itself. One declaration: the guard, the OpenAPI document and the tests read it. */
export interface RouteDoc extends GuardOptions {
  summary: string;
  description?: string;
  /** Where the document lists it; by the beginning of its path unless said. */
  tag?: 'webhooks';
  /** Of a path with a wildcard, what it stands for. */
  wildcard?: string;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** A request that is right. The documents show it, and a test sends it. */
  example?: { query?: Readonly<Record<string, string>>; body?: unknown };
  /** What a request that is right gets, by status. */
  answers: Readonly<Record<number, AnswerDoc>>;
  /** Statuses of refusals that are not those of all routes. */
  refusals?: readonly number[];
}

export interface AnswerDoc {
  description: string;
  /** Of JSON. */
  schema?: z.ZodType;
  /** Of anything else. */
  type?: 'text/event-stream' | 'text/plain' | 'application/json' | 'application/octet-stream';
}

/** A route as the server has it. */
export interface Route {
  verb: string;
  path: string;
  /** Undefined for what no client asks for by itself. */
  doc: RouteDoc | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    doc?: RouteDoc;
  }
}
