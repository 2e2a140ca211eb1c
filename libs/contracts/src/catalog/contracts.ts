import type { z } from 'zod';
import { gateway } from '../gateway/contract.ts';
import { sessions } from '../sessions/contract.ts';
import { registry } from '../registry/contract.ts';
import { secrets } from '../secrets/contract.ts';
import { memory } from '../memory/contract.ts';
import { scheduler } from '../scheduler/contract.ts';
import { graph } from '../graph/contract.ts';
import { browser } from '../browser/contract.ts';
import { media } from '../media/contract.ts';
import { channels } from '../channels/contract.ts';
import { workspace } from '../workspace/contract.ts';
import { tools } from '../tools/contract.ts';
import { observability } from '../observability/contract.ts';
import { IDEMPOTENCY_KEY } from '../values/common.ts';
import {
  type AuditKind,
  DEFAULT_DEADLINE_MS,
  type Contract,
  type MethodScope,
  type MethodSpec,
  type OperationSpec,
  type ServiceName,
  type ToolEffect,
} from '../definition/define.ts';
import { describeTool, type AgentTool } from '../definition/tool-groups.ts';
import { subjects } from '../definition/subjects.ts';

export const contracts = {
  gateway,
  sessions,
  registry,
  secrets,
  memory,
  scheduler,
  graph,
  browser,
  media,
  channels,
  workspace,
  tools,
  observability,
};

type Contracts = typeof contracts;
type Union<K extends 'methods' | 'operations' | 'events'> = { [S in keyof Contracts]: Contracts[S][K] }[keyof Contracts];
type Merge<U> = (U extends unknown ? (of: U) => void : never) extends (of: infer I) => void ? { [N in keyof I]: I[N] } : never;

export type Methods = Merge<Union<'methods'>>;
export type Operations = Merge<Union<'operations'>>;
export type Events = Merge<Union<'events'>>;
type Callables = Methods & Operations;

export type MethodName = keyof Methods & string;
export type OperationName = keyof Operations & string;
export type EventName = keyof Events & string;
export type CallName = MethodName | OperationName;
export type StreamName = { [N in CallName]: Callables[N] extends { chunk: z.ZodType } ? N : never }[CallName];
export type UnaryName = Exclude<CallName, StreamName>;

type Field<N extends CallName, F extends string> = Callables[N] extends { [K in F]: infer Z extends z.ZodType } ? Z : never;
/** Params as the caller passes them. */
export type Params<N extends CallName> = z.input<Field<N, 'params'>>;
/** Params as the handler receives them: validated, with defaults. */
export type Input<N extends CallName> = z.output<Field<N, 'params'>>;
export type Result<N extends CallName> = z.output<Field<N, 'result'>>;
export type Chunk<N extends StreamName> = z.output<Field<N, 'chunk'>>;
export type EventPayload<N extends EventName> = Events[N] extends { payload: infer Z extends z.ZodType } ? z.output<Z> : never;

type Emitted = { [N in CallName]: Callables[N] extends { emits: readonly (infer E)[] } ? E : never }[CallName];

/** One thing that can be called, resolved once at start: nothing about it is computed per request. */
export interface Callable {
  name: CallName;
  kind: 'method' | 'operation';
  service: ServiceName;
  subject: string;
  /** Undefined for operations, which have callers instead. */
  scope: MethodScope | undefined;
  callers: readonly ServiceName[];
  deadlineMs: number;
  idempotent: boolean;
  /** Whether it changes nothing at all. */
  reads: boolean;
  streams: boolean;
  /** Whether its owner keeps keys under which a call that is made again is the same one. */
  keyed: boolean;
  /** The tool that agents get for it; undefined if agents cannot use it. */
  tool: AgentTool | undefined;
  /** Effect of a call by an agent; `destructive` unless it is declared. */
  effect: ToolEffect;
  /** Whether params or result can exceed a message. */
  large: { params: boolean; result: boolean };
  /** Secret fields of params and result, which cross the bus encrypted. Undefined if there are none. */
  sealed: SealedParts | undefined;
  /** The events it may cause. */
  emits: readonly EventName[];
  /** Kind of the audit record of each call; undefined for calls without one. */
  audited: AuditKind | undefined;
  /** An admin only looks at something with it: on record afterwards, and counted. */
  looked: boolean;
  spec: MethodSpec | OperationSpec;
}

/** The secret fields of params and result. */
export interface SealedParts {
  params: readonly string[];
  result: readonly string[];
}

function resolveCallables(): Map<string, Callable> {
  const all = new Map<string, Callable>();
  for (const contract of Object.values(contracts) as Contract[]) {
    for (const [name, spec] of Object.entries(contract.methods)) add(all, describeMethod(contract.service, name, spec));
    for (const [name, spec] of Object.entries(contract.operations)) add(all, describeOperation(contract.service, name, spec));
  }
  return all;
}

function add(all: Map<string, Callable>, callable: Callable): void {
  if (all.has(callable.name)) throw new TypeError(`${callable.name} is declared twice`);
  all.set(callable.name, callable);
}

/** Whether agents get it as a tool when the contract does not say: their own turns and spawns are not tools. */
function toolByDefault(name: string): boolean {
  return !name.startsWith('agent.') && name !== 'session.send' && name !== 'session.spawn';
}

function getMethodTool(name: string, { scope, tool = toolByDefault(name) }: MethodSpec): AgentTool | undefined {
  if (scope !== 'rpc' || tool === false) return undefined;
  return describeTool(name, tool === true ? {} : tool);
}

function describeMethod(service: ServiceName, name: string, spec: MethodSpec): Callable {
  return {
    name: name as CallName,
    kind: 'method',
    service,
    subject: subjects.method(service, name),
    scope: spec.scope,
    callers: [],
    deadlineMs: spec.deadlineMs ?? DEFAULT_DEADLINE_MS,
    idempotent: spec.idempotent ?? false,
    reads: spec.reads ?? false,
    streams: spec.chunk !== undefined,
    keyed: takesKey(spec),
    tool: getMethodTool(name, spec),
    effect: spec.effect ?? (spec.reads ? 'read' : (spec.audited ?? 'destructive')),
    large: getLargeParts(spec),
    sealed: getSealedParts(spec),
    emits: getEvents(spec),
    audited: getKind(spec),
    looked: spec.scope === 'admin' && getKind(spec) === undefined,
    spec,
  };
}

function getKind({ audited, scope, idempotent }: MethodSpec): AuditKind | undefined {
  return audited ?? (scope === 'admin' && idempotent !== true ? 'mutate' : undefined);
}

function describeOperation(service: ServiceName, name: string, spec: OperationSpec): Callable {
  return {
    name: name as CallName,
    kind: 'operation',
    service,
    subject: subjects.operation(service, name),
    scope: undefined,
    callers: spec.callers,
    deadlineMs: spec.deadlineMs ?? DEFAULT_DEADLINE_MS,
    idempotent: spec.idempotent ?? false,
    reads: spec.reads ?? false,
    streams: spec.chunk !== undefined,
    keyed: takesKey(spec),
    tool: spec.tool,
    effect: spec.effect ?? (spec.reads ? 'read' : 'destructive'),
    large: getLargeParts(spec),
    sealed: undefined,
    emits: getEvents(spec),
    audited: undefined,
    looked: spec.looked ?? false,
    spec,
  };
}

function getLargeParts({ blobs = [], params, result }: Pick<MethodSpec, 'blobs' | 'params' | 'result'>): Callable['large'] {
  const isNamed = (schema: z.ZodType): boolean => blobs.some((name) => name === '*' || hasMember(schema, name));
  return { params: isNamed(params), result: isNamed(result) };
}

function getSealedParts({ sealed, params, result }: Pick<MethodSpec, 'sealed' | 'params' | 'result'>): SealedParts | undefined {
  if (sealed === undefined) return undefined;
  const getMembers = (schema: z.ZodType): string[] => sealed.filter((name) => hasMember(schema, name));
  return { params: getMembers(params), result: getMembers(result) };
}

function hasMember(schema: z.ZodType, name: string): boolean {
  const { def } = (schema as z.core.$ZodType as z.core.$ZodTypes)._zod;
  return def.type === 'object' && name in def.shape;
}

function takesKey({ params }: { params: object }): boolean {
  return 'shape' in params && typeof params.shape === 'object' && params.shape !== null && IDEMPOTENCY_KEY in params.shape;
}

/** That each of them is an event of some contract is checked by the compiler, here where all contracts meet. */
function getEvents({ emits = [] }: { emits?: readonly string[] }): readonly EventName[] {
  return emits as readonly Emitted[];
}

/** Everything callable, by name: public methods and private operations. */
export const callables: ReadonlyMap<string, Callable> = resolveCallables();

/** The public methods alone: all that JSON-RPC may reach. */
export const publicMethods: ReadonlyMap<string, Callable> = new Map([...callables].filter(([, callable]) => callable.kind === 'method'));

/** The events that every process emits. */
export const processEvents: ReadonlySet<string> = new Set(
  (Object.values(contracts) as Contract[]).flatMap(({ events }) => Object.keys(events).filter((name) => events[name]?.everywhere)),
);

/** The events that the event log does not keep. */
export const progressEvents: ReadonlySet<string> = new Set(
  (Object.values(contracts) as Contract[]).flatMap(({ events }) => Object.keys(events).filter((name) => events[name]?.progress)),
);

/** The service that emits each event, by event name. */
export const eventServices: ReadonlyMap<string, ServiceName> = new Map(
  (Object.values(contracts) as Contract[]).flatMap((contract) =>
    Object.keys(contract.events).map((name) => [name, contract.service] as const),
  ),
);
