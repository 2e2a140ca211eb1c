import type { Watching, Write } from './simulated-store.ts';

/** A condition of a write of `@switchyard/work`: a field of its filter, or a unique set. */
export interface WorkGuard {
  write: string;
  field: string;
}

/** Fields that name the document. */
const NAMING_FIELDS = new Set(['tenant']);

/** Describes a write by its collection, the fields that it changes, and its state. */
function describeWrite({ collection, filter, change }: Write): string {
  const { set = {}, unset = [], inc = {} } = change;
  const state = typeof set['state'] === 'string' ? [`state=${set['state']}`] : [];
  const fields = [...Object.keys(set), ...unset, ...Object.keys(inc)].filter((field) => CHANGED_FIELDS.has(field));
  const conditions = Object.keys(filter).filter((field) => !NAMING_FIELDS.has(field));
  return `${collection}: ${[...state, ...new Set(fields)].toSorted().join(' ')} if ${conditions.toSorted().join(' ')}`;
}

/** Fields of the protocol. The fields of a story do not make a further write of it. */
const CHANGED_FIELDS = new Set(['attempts', 'bell', 'dueAt', 'fence', 'leaseUntil', 'readyAt', 'slot', 'waitAt', 'waitRoom', 'wakes']);

/** Records the guards of all writes that a simulation makes. */
export function recordGuards(keys: readonly string[]): { sabotage: NonNullable<Watching['sabotage']>; list: () => WorkGuard[] } {
  const found = new Map<string, WorkGuard>();
  return {
    sabotage(write) {
      const description = describeWrite(write);
      for (const field of Object.keys(write.filter)) {
        if (NAMING_FIELDS.has(field) || keys.includes(field)) continue;
        found.set(`${description} ${field}`, { write: description, field });
      }
      return write.filter;
    },
    list: () => [...found.values()],
  };
}

/** Leaves one guard out. */
export function withoutGuard({ write, field }: WorkGuard): NonNullable<Watching['sabotage']> {
  return (attempt) => {
    if (describeWrite(attempt) !== write) return attempt.filter;
    if (field === 'unique') return { unique: [] };
    return Object.fromEntries(Object.entries(attempt.filter).filter(([name]) => name !== field));
  };
}
