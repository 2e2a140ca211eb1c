export {
  newWork,
  roomIndexes,
  roomSlots,
  workFields,
  workIndex,
  WorkState,
  type Fields,
  type Outcome,
  type WorkDocument,
} from './work-document.ts';
export { LEASE_TIMING, type Lease, type LeaseTiming } from './lease.ts';
export { roomCollection, RoomDocument, type AnyWork, type Room, type RoomOptions } from './rooms.ts';
export { createWork, type AddOptions, type Work } from './work.ts';
export { startTurnEndSweep, wakeEndedTurns, type TurnEndSweepDeps, type TurnWaiters, type TurnWork } from './turn-end-sweep.ts';
export type { WorkOptions } from './work-options.ts';
