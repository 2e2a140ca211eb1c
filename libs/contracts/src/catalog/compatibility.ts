import type { Contract } from '../definition/define.ts';
import { findBreakingChanges, type Direction } from './compatibility-schema.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../definition/json-schema.ts';
import { callables, contracts, type Callable } from './contracts.ts';

/** The promise of one name, without descriptions. */
export interface LockEntry {
  service: string;
  scope?: string;
  callers?: string[];
  deadlineMs?: number;
  idempotent?: boolean;
  params?: JsonSchema;
  result?: JsonSchema;
  chunk?: JsonSchema;
  payload?: JsonSchema;
}

type Kind = 'methods' | 'operations' | 'events';

/** Everything the contracts promise. The folder `snapshots` keeps the part of each service in a file of its own. */
export type ContractsLock = Record<Kind, Record<string, LockEntry>>;

const KINDS: readonly Kind[] = ['methods', 'operations', 'events'];
const ON_PURPOSE =
  'Add a field or method instead of changing one. If the change is intended, describe it under "Unreleased" in CHANGELOG.md and run: make lock';
const COMMAND = 'make lock';

/** The present contracts in the form of the lock: sorted, and free of text that promises nothing. */
export function createSnapshot(): ContractsLock {
  const named = [...callables.values()];
  return {
    methods: entries(named.filter(({ kind }) => kind === 'method').map((callable) => [callable.name, lockCallable(callable)])),
    operations: entries(named.filter(({ kind }) => kind === 'operation').map((callable) => [callable.name, lockCallable(callable)])),
    events: entries((Object.values(contracts) as Contract[]).flatMap(lockEvents)),
  };
}

/** Lists the breaking changes since `before`, one sentence each; empty if `after` only adds. */
export function findNarrowings(before: ContractsLock, after: ContractsLock): string[] {
  return KINDS.flatMap((kind) =>
    Object.entries(before[kind]).flatMap(([name, entry]) => {
      const now = after[kind][name];
      return now ? compareEntries(name, entry, now) : [`${name} is gone`];
    }),
  );
}

/** What to do about a lock that is not the contracts' own; undefined when it is. */
export function findStaleEntries(lock: ContractsLock, present: ContractsLock): string | undefined {
  if (serializeLock(lock) === serializeLock(present)) return undefined;
  const broken = findNarrowings(lock, present);
  if (broken.length === 0) return `The contracts have new entries. Update the snapshots: ${COMMAND}`;
  return `The contracts break existing promises:\n${broken.map((sentence) => `  ${sentence}`).join('\n')}\n${ON_PURPOSE}`;
}

/** Splits the lock by the service that owns each entry. */
export function splitByService(lock: ContractsLock): Record<string, ContractsLock> {
  const parts: Record<string, ContractsLock> = {};
  for (const kind of KINDS)
    for (const [name, entry] of Object.entries(lock[kind]))
      (parts[entry.service] ??= { methods: {}, operations: {}, events: {} })[kind][name] = entry;
  return parts;
}

/** Joins the parts that {@link splitByService} made. */
export function mergeLocks(parts: readonly ContractsLock[]): ContractsLock {
  const merged = (kind: Kind): Record<string, LockEntry> => Object.assign({}, ...parts.map((part) => part[kind]));
  return { methods: merged('methods'), operations: merged('operations'), events: merged('events') };
}

/** Writes each part of an entry on its own line, so that a diff shows which promise changed. */
export function serializeLock(lock: ContractsLock): string {
  return `${lines(sorted(lock), 3)}\n`;
}

function lines(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const indent = ' '.repeat(4 - depth);
  const parts = Object.entries(value).map(([key, part]) => `${indent}${JSON.stringify(key)}: ${lines(part, depth - 1)}`);
  return parts.length === 0 ? '{}' : `{\n${parts.join(',\n')}\n${indent.slice(1)}}`;
}

function compareEntries(name: string, before: LockEntry, after: LockEntry): string[] {
  const lostCallers = (before.callers ?? []).filter((caller) => !after.callers?.includes(caller));
  return [
    ...(before.service === after.service ? [] : [`${name} moved from ${before.service} to ${after.service}`]),
    ...(before.scope === after.scope ? [] : [`${name} asks for scope ${after.scope} instead of ${before.scope}`]),
    ...lostCallers.map((caller) => `${name} is no longer open to ${caller}`),
    ...(before.idempotent && !after.idempotent ? [`${name} is no longer idempotent`] : []),
    ...comparePart(`${name} params:`, [before.params, after.params], 'params'),
    ...comparePart(`${name} result:`, [before.result, after.result], 'result'),
    ...comparePart(`${name} chunk:`, [before.chunk, after.chunk], 'result'),
    ...comparePart(`${name} payload:`, [before.payload, after.payload], 'result'),
  ];
}

function comparePart(label: string, [before, after]: [JsonSchema | undefined, JsonSchema | undefined], direction: Direction): string[] {
  if (!before) return [];
  if (!after) return [`${label} no longer there`];
  return findBreakingChanges(before, after, direction).map((sentence) => `${label} ${sentence}`);
}

function lockCallable({ kind, service, scope, callers, deadlineMs, idempotent, spec }: Callable): LockEntry {
  return {
    service,
    ...(kind === 'method' ? { scope: scope ?? '' } : { callers: [...callers].sort() }),
    deadlineMs,
    idempotent,
    params: bare(inputSchema(spec.params)),
    result: bare(outputSchema(spec.result)),
    ...(spec.chunk ? { chunk: bare(outputSchema(spec.chunk)) } : {}),
  };
}

function lockEvents({ service, events }: Contract): [string, LockEntry][] {
  return Object.entries(events).map(([name, { payload }]) => [name, { service, payload: bare(outputSchema(payload)) }]);
}

function entries(named: [string, LockEntry][]): Record<string, LockEntry> {
  return Object.fromEntries(named);
}

/** Explanations may change freely. A property may be called `description`: only the keyword is text. */
function bare(schema: JsonSchema): JsonSchema {
  const text = new Set(['description', 'title', 'examples']);
  const keptItems = Object.entries(schema).filter(([keyword, value]) => !(text.has(keyword) && typeof value !== 'object'));
  return Object.fromEntries(keptItems.map(([keyword, value]) => [keyword, bareValue(value)]));
}

function bareValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bareValue);
  return typeof value === 'object' && value !== null ? bare(value as JsonSchema) : value;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted((value as Record<string, unknown>)[key])]));
}
