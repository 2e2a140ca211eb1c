export { newWork, workFields, workIndex, WorkState, type Outcome, type WorkDocument } from './work-document.ts';
export type { Lease } from './lease.ts';
export { createWork, type Work, type WorkOptions } from './work.ts';
