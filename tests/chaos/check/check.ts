import { events } from './events.ts';
import { know, type Evidence, type Violation } from './known.ts';
import { conversation } from './sessions.ts';
import { streams } from './streams.ts';
import { tokens } from './tokens.ts';
import { toolsOnce } from './tools.ts';
import { committedOnce, idempotent, lost, phantom } from './turns.ts';

const CHECKS = [lost, phantom, committedOnce, idempotent, conversation, toolsOnce, streams, events, tokens];

/** Returns all violations of the invariants in a run. */
export function check(evidence: Evidence): Violation[] {
  const known = know(evidence);
  return CHECKS.flatMap((one) => one(known));
}
