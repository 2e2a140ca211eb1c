import type { TurnTools } from '@switchyard/contracts';
import { limitTools } from './skill-limits.ts';
import { buildResumeState, loadCheckpoints } from './checkpoint-log.ts';
import type { Bodies } from './stored-text.ts';
import type { TurnDocument } from './turn-document.ts';

/** Returns the tools that a turn has left: those of its order, within the lists of the skills that it has used. */
export async function loadRemainingTools(
  bodies: Bodies,
  { turnId, steps, tools }: Pick<TurnDocument, 'turnId' | 'steps' | 'tools'>,
): Promise<TurnTools | undefined> {
  if (steps.length === 0) return tools;
  return limitTools(tools, buildResumeState(await loadCheckpoints(bodies, turnId, steps)).skillLimits);
}
