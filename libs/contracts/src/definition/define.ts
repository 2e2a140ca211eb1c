import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

/** Every service there is. The name is the folder, the queue group and the second token of its subjects. */
export const SERVICES = [
  'gateway',
  'sessions',
  'registry',
  'secrets',
  'memory',
  'scheduler',
  'graph',
  'browser',
  'media',
  'channels',
  'workspace',
  'tools',
  'observability',
] as const;
export type ServiceName = (typeof SERVICES)[number];

/** How an event is named. Which events there are is known where all contracts meet. */
export type EventWord = `${string}:${string}`;

/** The scope a method asks for. `*` on a token satisfies both; there is no hierarchy between them. */
export type MethodScope = 'rpc' | 'admin';

/** As what a call stands on record: it shows what is secret, changes something, or takes something away. */
export const AUDIT_KINDS = ['read', 'mutate', 'destructive'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** A call and the answer it may get; both must parse with the schemas beside them. */
export interface Example {
  params: unknown;
  result: unknown;
}

/** What one public method promises. Routing, validation, client, CLI, tools and documents are all read from it. */
export interface MethodSpec {
  summary: string;
  description?: string;
  scope: MethodScope;
  params: z.ZodType;
  result: z.ZodType;
  /** Present when the handler streams: the schema of one chunk. */
  chunk?: z.ZodType;
  /** How long a caller waits. Defaults to 30,000; turns say 600,000. */
  deadlineMs?: number;
  /** Whether calling twice is the same as calling once. */
  idempotent?: boolean;
  /** It changes nothing at all: a turn makes such calls side by side. Only of what is idempotent and causes no event. */
  reads?: true;
  /** As what it stands on record, before it is answered. `mutate` for what admins do and may not be done twice, unless said. */
  audited?: AuditKind;
  /** Whether an agent may use it as a tool. Defaults to true for scope `rpc`, is never true for `admin`. */
  tool?: boolean;
  /**
   * The fields of params or result that may be so large that a message cannot carry them: together with them it goes as a blob.
   * `*` is all of it. Params without any are at most 64 KiB; a test says which fields have to be named.
   */
  blobs?: readonly string[];
  /**
   * The members of params or result that are secret. Where params have one, all of them cross the bus sealed to the owner; where the
   * result has one, it crosses sealed to the process that asked.
   */
  sealed?: readonly string[];
  errors?: readonly ErrorCode[];
  /** Said of what the interface does not promise and the product adds; a test finds what lacks it, and what has it in vain. */
  beyond?: true;
  /** The events that a call causes, while it runs or after it. None when left out: a handler that emits another fails in tests. */
  emits?: readonly EventWord[];
  /** What calls and their answers look like. A test plays them in the order of declaration, those that end something last. */
  examples: readonly Example[];
}

/** A private call between services. JSON-RPC, agents and MCP clients never reach it. */
export interface OperationSpec {
  summary: string;
  callers: readonly ServiceName[];
  /** An admin looks at something through it, by a route: it is counted on record as the methods are that only look. */
  looked?: true;
  params: z.ZodType;
  result: z.ZodType;
  chunk?: z.ZodType;
  deadlineMs?: number;
  idempotent?: boolean;
  /** As that of a method. */
  reads?: true;
  /** As those of a method. */
  blobs?: readonly string[];
  emits?: readonly EventWord[];
}

/** A system event, named `entity:past-tense`. */
export interface EventSpec {
  summary: string;
  payload: z.ZodType;
  /** As that of a method. */
  beyond?: true;
  example: unknown;
}

export type MethodSpecs = Record<string, MethodSpec>;
export type OperationSpecs = Record<string, OperationSpec>;
export type EventSpecs = Record<string, EventSpec>;

/** All that one service offers. */
export interface Contract {
  service: ServiceName;
  methods: MethodSpecs;
  operations: OperationSpecs;
  events: EventSpecs;
}

/** Keeps the exact types of what is declared, so that calls, handlers and clients are typed from it. */
export function defineContract<C extends Contract>(contract: C): C {
  return contract;
}

/** One namespace's methods, to be spread into its service's contract. */
export function defineMethods<M extends MethodSpecs>(methods: M): M {
  return methods;
}

/** One file's operations, to be spread into its service's contract. */
export function defineOperations<O extends OperationSpecs>(operations: O): O {
  return operations;
}

/** One file's events, to be spread into its service's contract. */
export function defineEvents<E extends EventSpecs>(events: E): E {
  return events;
}

export const DEFAULT_DEADLINE_MS = 30_000;
export const TURN_DEADLINE_MS = 600_000;
