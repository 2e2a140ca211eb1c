import { ServiceError } from '@switchyard/contracts';
import type { Change, Collection, Document, Documents, Filter, FindOptions, OutboxEvent, Page } from '@switchyard/store';
import type { Process } from './simulation.ts';

/** The shared database of a simulation: documents by tenant and key. */
export interface SimulatedData<D extends Document> {
  readonly documents: Map<string, D & { tenant: string }>;
  /** Returns the collection for one process. */
  from(process: Process): Collection<D>;
}

export interface SimulatedSpec {
  key: string;
  /** Fields, or sets of fields, with unique values within a tenant. */
  unique?: readonly (string | readonly string[])[];
}

type Kept = Document & { tenant: string };

/** A pending write, which a test may sabotage to prove that the checks notice it. */
export interface Write {
  collection: string;
  filter: Record<string, unknown>;
  change: Change<Document>;
}

export interface Watching {
  /** Called before each guarded write; returns the filter to use. */
  sabotage?: (write: Write) => Record<string, unknown>;
  /** Called after each effective write. */
  changed?: (collection: string, before: Kept | undefined, after: Kept | undefined) => void;
  emitted?: (event: OutboxEvent) => void;
}

/** Implements the store port for the filters and changes used in simulations, without validation. */
export function simulatedData<D extends Document>(
  name: string,
  { key, unique = [] }: SimulatedSpec,
  watching: Watching = {},
): SimulatedData<D> {
  const documents = new Map<string, Kept>();
  const data: Data = { name, key, unique, documents, watching };
  return {
    documents: documents as Map<string, D & { tenant: string }>,
    from: (process) =>
      ({
        key,
        for: ({ tenant }: { tenant: string }) => reach(data, process, tenant),
        system: () => reach(data, process, undefined),
      }) as unknown as Collection<D>,
  };
}

interface Data {
  name: string;
  key: string;
  unique: readonly (string | readonly string[])[];
  documents: Map<string, Kept>;
  watching: Watching;
}

function reach(data: Data, process: Process, tenant: string | undefined): Documents<Document> {
  const within = (filter: Filter<Document>): Record<string, unknown> => ({ ...filter, ...(tenant === undefined ? {} : { tenant }) });
  const out = (kept: Kept): Document => {
    if (tenant === undefined) return kept;
    const { tenant: _tenant, ...document } = kept;
    return document;
  };
  const whose = tenant ?? '';
  return {
    get: (key) => process.operation(() => mapped(data.documents.get(`${whose} ${key}`), out)),
    insert: (document, { emit } = {}) => process.operation(() => out(insert(data, { ...document, tenant: whose }, emit))),
    replace: (document, { if: guard, emit } = {}) =>
      process.operation(() => mapped(replace(data, { ...document, tenant: whose }, { guard, emit }), out)),
    update: (filter, change) => process.operation(() => mapped(update(data, within(filter), { change }), out)),
    claim: (filter, change, { sort } = {}) => process.operation(() => mapped(update(data, within(filter), { change, sort }), out)),
    find: (filter, options = {}) => process.operation(() => page(matching(data, within(filter), options.sort), options, out)),
    count: (filter) => process.operation(() => matching(data, within(filter)).length),
    remove: (filter) => process.operation(() => remove(data, within(filter))),
  };
}

function mapped(kept: Kept | undefined, out: (kept: Kept) => Document): Document | null {
  return kept ? out(kept) : null;
}

function getName({ key }: Data, kept: Kept): string {
  return `${kept.tenant} ${String(kept[key])}`;
}

function put(data: Data, kept: Kept, before?: Kept): Kept {
  data.documents.set(getName(data, kept), kept);
  data.watching.changed?.(data.name, before, kept);
  return kept;
}

/** Throws if another document has the same values. An update that changes no unique field passes. */
function rejectDuplicate(data: Data, kept: Kept, change: Change<Document>, before?: Kept): void {
  const sets = [data.key, ...data.unique].map((fields) => (typeof fields === 'string' ? [fields] : fields));
  const isChanged = (fields: readonly string[]): boolean => fields.some((field) => kept[field] !== before?.[field]);
  const changes = sets.filter((fields) => isChanged(fields) && fields.every((field) => kept[field] !== undefined));
  if (before && changes.length === 0) return;
  const used = data.watching.sabotage?.({ collection: data.name, filter: { unique: data.unique }, change })['unique'] ?? data.unique;
  const enforced = changes.filter(
    (fields) => fields[0] === data.key || (used as Data['unique']).some((one) => [one].flat().join() === fields.join()),
  );
  const isTaken = (fields: readonly string[]): boolean =>
    [...data.documents.values()].some(
      (other) => other !== before && other.tenant === kept.tenant && fields.every((field) => other[field] === kept[field]),
    );
  const unique = enforced.find(isTaken);
  if (unique) throw new ServiceError('ALREADY_EXISTS', `${data.name}: ${unique.join(' and ')} already exists`, { details: { unique } });
}

function insert(data: Data, kept: Kept, emit: readonly OutboxEvent[] = []): Kept {
  rejectDuplicate(data, kept, {});
  for (const event of emit) data.watching.emitted?.(event);
  return put(data, kept);
}

function replace(
  data: Data,
  kept: Kept,
  { guard, emit = [] }: { guard: Filter<Document> | undefined; emit: readonly OutboxEvent[] | undefined },
): Kept | undefined {
  const before = data.documents.get(getName(data, kept));
  if (guard && !(before && matches(before, guard))) return undefined;
  for (const event of emit) data.watching.emitted?.(event);
  return put(data, kept, before);
}

interface Updating {
  change: Change<Document>;
  sort?: FindOptions<Document>['sort'] | undefined;
}

function update(data: Data, filter: Record<string, unknown>, { change, sort }: Updating): Kept | undefined {
  const { watching, name } = data;
  const used = watching.sabotage?.({ collection: name, filter: { ...filter, ...change.if }, change }) ?? { ...filter, ...change.if };
  // A condition on a field that `if` names too applies in addition.
  const both = Object.entries(filter).filter(([field]) => field in used && Object.hasOwn(change.if ?? {}, field));
  const [before] = matching(data, used, sort).filter((kept) => matches(kept, Object.fromEntries(both)));
  if (!before) return undefined;
  const after = changed(before, change);
  if (data.unique.length > 0) rejectDuplicate(data, after, change, before);
  for (const event of change.emit ?? []) watching.emitted?.(event);
  return put(data, after, before);
}

function changed(before: Kept, { set, unset = [], inc, push, pull }: Change<Document>): Kept {
  const after: Kept = { ...before, ...set };
  for (const field of unset) delete after[field];
  for (const [field, by] of Object.entries(inc ?? {})) after[field] = ((before[field] as number | undefined) ?? 0) + (by ?? 0);
  for (const [field, entry] of Object.entries(push ?? {})) after[field] = [...((before[field] as unknown[] | undefined) ?? []), entry];
  for (const [field, entry] of Object.entries(pull ?? {}))
    after[field] = ((before[field] as unknown[] | undefined) ?? []).filter((one) => one !== entry);
  for (const field of Object.keys(after)) if (after[field] === undefined) delete after[field];
  return after;
}

function matching(data: Data, filter: Record<string, unknown>, sort: FindOptions<Document>['sort'] = []): Kept[] {
  const [key, tenant] = [filter[data.key], filter['tenant']];
  if (typeof key === 'string' && typeof tenant === 'string') {
    const one = data.documents.get(`${tenant} ${key}`);
    return one && matches(one, filter) ? [one] : [];
  }
  const found = [...data.documents.values()].filter((kept) => matches(kept, filter));
  if (found.length < 2) return found;
  return found.toSorted((a, b) => {
    for (const [field, order] of sort) {
      const by = compare(a[field], b[field]);
      if (by !== 0) return order === 'asc' ? by : -by;
    }
    return compare(getName(data, a), getName(data, b));
  });
}

function compare(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === undefined || a === null) return -1;
  if (b === undefined || b === null) return 1;
  return a < b ? -1 : 1;
}

function page(found: readonly Kept[], { limit = 100, cursor = '0' }: FindOptions<Document>, out: (kept: Kept) => Document): Page<Document> {
  const from = Number(cursor);
  const items = found.slice(from, from + limit).map(out);
  return from + limit < found.length ? { items, cursor: String(from + limit) } : { items };
}

function remove(data: Data, filter: Record<string, unknown>): number {
  const used = data.watching.sabotage?.({ collection: data.name, filter, change: {} }) ?? filter;
  const found = matching(data, used);
  for (const kept of found) {
    data.documents.delete(getName(data, kept));
    data.watching.changed?.(data.name, kept, undefined);
  }
  return found.length;
}

function matches(kept: Kept, filter: Record<string, unknown>): boolean {
  for (const field in filter) if (!holds(kept[field] ?? null, filter[field] ?? null)) return false;
  return true;
}

function holds(value: unknown, requested: unknown): boolean {
  if (typeof requested !== 'object' || requested === null) return value === requested;
  for (const [operator, operand] of Object.entries(requested)) if (!compares(value, operator, operand)) return false;
  return true;
}

function compares(value: unknown, operator: string, operand: unknown): boolean {
  const like = typeof value === typeof operand && value !== null;
  const ordered = value as number;
  const bound = operand as number;
  switch (operator) {
    case 'lt':
      return like && ordered < bound;
    case 'lte':
      return like && ordered <= bound;
    case 'gt':
      return like && ordered > bound;
    case 'gte':
      return like && ordered >= bound;
    case 'ne':
      return value !== (operand ?? null);
    case 'in':
      return (operand as unknown[]).some((one) => (one ?? null) === value);
    case 'exists':
      return (value !== null) === operand;
    case 'has':
      return Array.isArray(value) && value.includes(operand);
    case 'lacks':
      return !(Array.isArray(value) && value.includes(operand));
    default:
      throw new TypeError(`the simulated store knows no ${operator}`);
  }
}
