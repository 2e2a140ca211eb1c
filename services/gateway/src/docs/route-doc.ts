import type { z } from 'zod';
import type { GuardOptions } from '../edge.ts';

/** What a route says of itself. One declaration: the guard, the OpenAPI document and the tests read it. */
export interface RouteDoc extends GuardOptions {
  /** Whether a token is needed, which it is unless said. */
  open?: true;
  summary: string;
  description?: string;
  /** Of a path with a wildcard, what it stands for. */
  wildcard?: string;
  query?: z.ZodObject;
  headers?: z.ZodObject;
  body?: z.ZodType;
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
  type?: 'text/event-stream' | 'text/plain' | 'application/json';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    doc?: RouteDoc;
  }
}
