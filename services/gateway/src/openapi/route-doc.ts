import type { TokenScope } from '@switchyard/contracts';
import type { z } from 'zod';

/** Access rules of a route. */
export interface GuardOptions {
  /** The token needs one of these scopes, or `*`. Without a list any valid token is accepted. */
  scopes?: readonly TokenScope[];
  /** Accepts `?token=` and `?ticket=`, for requests on which a browser cannot set headers. */
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
  /** A valid request, which the documents show and a test sends. */
  example?: { query?: Readonly<Record<string, string>>; body?: unknown };
  /** Successful responses by status. */
  responses: Readonly<Record<number, ResponseDoc>>;
  /** Error statuses of this route beyond those of all routes. */
  refusals?: readonly number[];
}

export interface ResponseDoc {
  description: string;
  /** The schema of a JSON body. */
  schema?: z.ZodType;
  /** The content type of another body. */
  type?: 'text/event-stream' | 'text/plain' | 'application/json' | 'application/octet-stream';
}

/** A registered route. */
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
