import type { WorkGuard } from '@switchyard/testkit';

/** A guard whose absence the judge notices, with the first seed that shows it. */
interface ProvenGuard extends WorkGuard {
  seed: number;
}

export const PROVEN_GUARDS: readonly ProvenGuard[] = [
  { write: 'rooms: bell readyAt if readyAt', field: 'readyAt', seed: 7 },
  { write: 'work: attempts dueAt fence leaseUntil state=running if dueAt waitRoom', field: 'dueAt', seed: 1 },
  { write: 'work: attempts dueAt fence leaseUntil state=running if dueAt waitRoom', field: 'waitRoom', seed: 10 },
  {
    write: 'work: attempts dueAt fence leaseUntil slot state=running waitAt waitRoom if fence taskId waitRoom',
    field: 'waitRoom',
    seed: 54,
  },
  { write: 'work:  if fence state taskId', field: 'state', seed: 5 },
  { write: 'work: attempts dueAt leaseUntil slot state=parked waitAt waitRoom if fence state taskId wakes', field: 'state', seed: 65 },
  { write: 'work: attempts dueAt leaseUntil slot state=parked waitAt waitRoom if fence state taskId wakes', field: 'wakes', seed: 2 },
  { write: 'work: dueAt state=queued wakes if state taskId waitRoom', field: 'state', seed: 1 },
  { write: 'work: dueAt state=queued waitAt wakes if state taskId waitAt', field: 'state', seed: 3 },
  { write: 'work: dueAt leaseUntil state=queued if fence state taskId', field: 'state', seed: 55 },
  { write: 'work: wakes if state taskId', field: 'state', seed: 1 },
  { write: 'work: dueAt leaseUntil slot state=done if fence state taskId', field: 'fence', seed: 35 },
  { write: 'work: dueAt leaseUntil slot state=done if fence state taskId', field: 'state', seed: 6 },
  { write: 'work: dueAt leaseUntil slot state=queued waitAt waitRoom if fence state taskId', field: 'state', seed: 178 },
  { write: 'work: dueAt leaseUntil slot state=cancelled waitAt waitRoom if state taskId', field: 'state', seed: 2 },
  { write: 'work: dueAt leaseUntil if fence state taskId', field: 'state', seed: 1 },
  { write: 'work: attempts dueAt leaseUntil state=queued if fence state taskId', field: 'fence', seed: 124 },
  { write: 'work: attempts dueAt leaseUntil state=queued if fence state taskId', field: 'state', seed: 36 },
];

/** A guard whose absence the scenario of this name in `late-writes.test.ts` shows. The stories have no write that is late enough. */
interface ScriptedGuard extends WorkGuard {
  scenario: ScenarioName;
}

export type ScenarioName =
  | 'a late write of a former holder'
  | 'a late renewal'
  | 'a late parking'
  | 'a late retry in line'
  | 'a late retry with the slot'
  | 'a late claim of a document that was returned to the line'
  | 'two claims of one slot'
  | 'a ring for a later time'
  | 'a ring during a visit that postpones the next one'
  | 'a ring during a visit that removes the room'
  | 'a wake of a document that may not start yet'
  | 'a wake of a document that waits in its line'
  | 'a recovery of a document that returned to its line meanwhile'
  | 'a recovery of a document that kept its slot meanwhile';

export const SCRIPTED_GUARDS: readonly ScriptedGuard[] = [
  { write: 'rooms: bell readyAt if readyAt room', field: 'readyAt', scenario: 'a ring for a later time' },
  {
    write: 'work: attempts dueAt fence leaseUntil slot state=running waitAt waitRoom if fence taskId waitRoom',
    field: 'fence',
    scenario: 'a late claim of a document that was returned to the line',
  },
  {
    write: 'work: attempts dueAt fence leaseUntil slot state=running waitAt waitRoom if unique',
    field: 'unique',
    scenario: 'two claims of one slot',
  },
  { write: 'work:  if fence state taskId', field: 'fence', scenario: 'a late write of a former holder' },
  {
    write: 'work: attempts dueAt leaseUntil slot state=parked waitAt waitRoom if fence state taskId wakes',
    field: 'fence',
    scenario: 'a late parking',
  },
  { write: 'rooms: readyAt if bell room', field: 'bell', scenario: 'a ring during a visit that postpones the next one' },
  {
    write: 'work: dueAt state=queued wakes if state taskId waitRoom',
    field: 'waitRoom',
    scenario: 'a wake of a document that may not start yet',
  },
  {
    write: 'work: dueAt state=queued waitAt wakes if state taskId waitAt',
    field: 'waitAt',
    scenario: 'a wake of a document that waits in its line',
  },
  { write: 'work: dueAt leaseUntil state=queued if fence state taskId', field: 'fence', scenario: 'a late retry with the slot' },
  {
    write: 'work: dueAt leaseUntil slot state=queued waitAt waitRoom if fence state taskId',
    field: 'fence',
    scenario: 'a late retry in line',
  },
  { write: 'rooms:  if bell room', field: 'bell', scenario: 'a ring during a visit that removes the room' },
  { write: 'work: dueAt leaseUntil if fence state taskId', field: 'fence', scenario: 'a late renewal' },
  {
    write: 'work: dueAt if dueAt taskId waitRoom',
    field: 'waitRoom',
    scenario: 'a recovery of a document that kept its slot meanwhile',
  },
  {
    write: 'work: dueAt if dueAt taskId waitRoom',
    field: 'dueAt',
    scenario: 'a recovery of a document that returned to its line meanwhile',
  },
];

/** A condition that never fails. */
interface UnprovenGuard extends WorkGuard {
  reason: string;
}

export const UNPROVEN_GUARDS: readonly UnprovenGuard[] = [
  { write: 'work:  if unique', field: 'unique', reason: 'The key of a document is always unique. A new document has no slot.' },
  { write: 'rooms:  if unique', field: 'unique', reason: 'The key of a room is always unique.' },
];
