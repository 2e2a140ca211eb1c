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

/** A guard without a known story that fails without it. */
interface UnprovenGuard extends WorkGuard {
  reason: string;
}

const RARE = 'Needs a write of a holder that is delayed beyond the next claim; no seed with one is known yet.';

export const UNPROVEN_GUARDS: readonly UnprovenGuard[] = [
  { write: 'work:  if unique', field: 'unique', reason: 'The key of a document is always unique. A new document has no slot.' },
  {
    write: 'rooms: bell readyAt if readyAt room',
    field: 'readyAt',
    reason: 'Without it a ring may postpone a visit, which delays the room.',
  },
  { write: 'rooms:  if unique', field: 'unique', reason: 'The key of a room is always unique.' },
  {
    write: 'work: attempts dueAt fence leaseUntil slot state=running waitAt waitRoom if fence taskId waitRoom',
    field: 'fence',
    reason: RARE,
  },
  { write: 'work: attempts dueAt fence leaseUntil slot state=running waitAt waitRoom if unique', field: 'unique', reason: RARE },
  { write: 'work:  if fence state taskId', field: 'fence', reason: RARE },
  { write: 'work: attempts dueAt leaseUntil slot state=parked waitAt waitRoom if fence state taskId wakes', field: 'fence', reason: RARE },
  { write: 'rooms: readyAt if bell room', field: 'bell', reason: 'Without it a visit may undo a ring, which is repeated after a minute.' },
  {
    write: 'work: dueAt state=queued wakes if state taskId waitRoom',
    field: 'waitRoom',
    reason: 'Without it a document in a line gets a due time, which recovery turns into a ring.',
  },
  {
    write: 'work: dueAt state=queued waitAt wakes if state taskId waitAt',
    field: 'waitAt',
    reason: 'Without it a wake moves a queued document back in its line.',
  },
  { write: 'work: dueAt leaseUntil state=queued if fence state taskId', field: 'fence', reason: RARE },
  { write: 'work: dueAt leaseUntil slot state=queued waitAt waitRoom if fence state taskId', field: 'fence', reason: RARE },
  {
    write: 'rooms:  if bell room',
    field: 'bell',
    reason: 'Without it a visit may remove a room that was rung. The ring is repeated after a minute.',
  },
  { write: 'work: dueAt leaseUntil if fence state taskId', field: 'fence', reason: RARE },
  { write: 'work: dueAt if dueAt taskId waitRoom', field: 'waitRoom', reason: RARE },
  { write: 'work: dueAt if dueAt taskId waitRoom', field: 'dueAt', reason: RARE },
];
