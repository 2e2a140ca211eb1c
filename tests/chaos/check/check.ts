import { events } from './events.ts';
import { know, type Evidence, type Violation } from './known.ts';
import { conversation } from './sessions.ts';
import { streams } from './streams.ts';
import { tokens } from './tokens.ts';
import { toolsOnce } from './tools.ts';
import { committedOnce, idempotent, lost, phantom } from './turns.ts';

const CHECKS = [lost, phantom, committedOnce, idempotent, conversation, toolsOnce, streams, events, tokens];

/** Everything that must not have happened in a run, and did. */
export function check(evidence: Evidence): Violation[] {
  const known = know(evidence);
  return CHECKS.flatMap((one) => one(known));
}
