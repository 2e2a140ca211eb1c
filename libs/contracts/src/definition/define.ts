import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { AgentTool } from './tool-groups.ts';

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

/** Services that keep work of clients and order turns for it. */
export const ORDERING_SERVICES = ['scheduler', 'graph', 'channels', 'tools'] as const satisfies readonly ServiceName[];

/** How an event is named. Which events there are is known where all contracts meet. */
export type EventWord = `${string}:${string}`;

/** The scope a method asks for. `*` on a token satisfies both; there is no hierarchy between them. */
export type MethodScope = 'rpc' | 'admin';

/** Kind of an audit record: the call reads secrets, changes data, or destroys data. */
export const AUDIT_KINDS = ['read', 'mutate', 'destructive'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** What a tool call does to data. Approvals are required by effect (docs/decisions/0032). */
export const TOOL_EFFECTS = ['read', 'mutate', 'destructive'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

/** A call and the answer it may get; both must parse with the schemas beside them. */
export interface Example {
  params: unknown;
  result: unknown;
}

/** Declaration of a public method. Routing, validation, client, CLI, tools and reference pages are derived from it. */
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
  /** Whether repeating a call has no further effect. */
  idempotent?: boolean;
  /** It changes nothing at all: a turn makes such calls side by side. Only of what is idempotent and causes no event. */
  reads?: true;
  /** Kind of the audit record written before the call is answered. Default: `mutate` for admin methods that are not idempotent. */
  audited?: AuditKind;
  /**
   * Whether agents may use it as a tool, or the name and group of that tool. Defaults to true for scope `rpc`. Methods of scope `admin` are
   * never tools.
   */
  tool?: boolean | Partial<AgentTool>;
  /** Effect of a call by an agent. Default: `read` with `reads`, else the kind of the audit record, else `destructive`. */
  effect?: ToolEffect;
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
  /** Marks additions to the interface. A test finds missing and superfluous marks. */
  beyond?: true;
  /** The events that a call causes, while it runs or after it. None when left out: a handler that emits another fails in tests. */
  emits?: readonly EventWord[];
  /** Example calls with results. A test runs them in the order of declaration, with destructive ones last. */
  examples: readonly Example[];
}

/** A private call between services. JSON-RPC and MCP clients never reach it; agents reach the operations that are tools. */
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
  /** Offers the operation to agents as a tool. `callers` then includes sessions, which calls it for the principal of a turn. */
  tool?: AgentTool;
  /** As that of a method. */
  effect?: ToolEffect;
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
  /** Every process emits it, whatever its methods declare in `emits`. */
  everywhere?: true;
  /** Reports progress whose outcome another event or a document tells: connected readers receive it, and the event log does not keep it. */
  progress?: true;
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
