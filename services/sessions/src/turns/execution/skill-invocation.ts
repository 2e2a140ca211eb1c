import { ServiceError, SkillName, type SkillInstructions } from '@switchyard/contracts';
import type { CheckpointEntry, InvokedSkill } from '../../model/checkpoint-log.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { isForeign } from '../../screening/untrusted-message.ts';
import { addSkillLimit, getSkillLimit, type SkillLimit } from '../../model/skill-limits.ts';
import type { TurnRun, TurnRunDeps } from './turn-run.ts';

/** Time for which a turn waits for the tools service, for example while it restarts. */
const SERVICE_WINDOW_MS = 10_000;
const CALL_TIMEOUT_MS = 30_000;

const SERVICE_AWAY = 'Skills are not available: the tools service is not running.';
const INVALID_NAME = 'There is no skill of that name. The name of a skill has lower-case letters, digits and single hyphens.';

export interface SkillInvocation {
  /** Name as the user wrote it. */
  name: string;
  args: string;
  checkpoint: (mark: CheckpointEntry) => Promise<void>;
}

/** The question of the turn with the limits of its skills, or the text that answers the turn instead. */
export type InvocationOutcome =
  | { prompt: string; skillLimits: readonly SkillLimit[]; refusal?: undefined }
  | { refusal: string; prompt?: undefined };

/**
 * Returns whether `/skill:<name>` in the message of a turn invokes a skill. Only users invoke skills in this way. A webhook payload and the
 * task of a sub-agent may begin with these words too, and a skill may exclude invocation by models.
 */
export function mayInvokeSkill({ sessionKey, order }: Pick<TurnDocument, 'sessionKey' | 'order'>): boolean {
  return !isForeign(sessionKey) && order?.kind !== 'subagent';
}

/**
 * Gets the instructions of the skill that the user invoked, and records them before the first model call. A resumed turn uses the recorded
 * ones. An unknown or unusable skill, and a tools service that stays away, end the turn with a text.
 */
export async function invokeSkill(
  deps: Pick<TurnRunDeps, 'bus' | 'clock'>,
  run: Pick<TurnRun, 'agent' | 'lease' | 'principal' | 'remainingMs' | 'resumeFrom' | 'signal' | 'traceparent' | 'turn'>,
  { name, args, checkpoint }: SkillInvocation,
): Promise<InvocationOutcome> {
  const { skill: recorded, skillLimits } = run.resumeFrom;
  if (recorded) return { prompt: renderPrompt(recorded), skillLimits };
  if (!SkillName.safeParse(name).success) return { refusal: INVALID_NAME };
  const found = await run.lease.retryWrite(withServiceWindow(deps, run, { name, args }));
  if (typeof found === 'string') return { refusal: found };
  const allowedTools = getSkillLimit(found, `skill__${name}`);
  const skill = { name, instructions: found.instructions, ...(allowedTools === undefined ? {} : { allowedTools }) };
  await checkpoint({ mark: 'skill', ...skill });
  return { prompt: renderPrompt(skill), skillLimits: addSkillLimit(skillLimits, allowedTools) };
}

/** Returns a call that can be repeated. It resolves with a text once the service has been away for the window. */
function withServiceWindow(
  { bus, clock }: Pick<TurnRunDeps, 'bus' | 'clock'>,
  { agent, principal, remainingMs, signal, traceparent, turn }: Parameters<typeof invokeSkill>[1],
  { name, args }: Pick<SkillInvocation, 'name' | 'args'>,
): () => Promise<SkillInstructions | string> {
  let awaySince: number | undefined;
  const caller = bus.as(principal);
  const ids = {
    ...(turn.requestId === undefined ? {} : { requestId: turn.requestId }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  return async () => {
    signal.throwIfAborted();
    try {
      const options = { ...ids, signal, timeoutMs: Math.min(CALL_TIMEOUT_MS, remainingMs()) };
      return await caller.call('skills.use', { agentId: agent.agentId, name, arguments: args }, options);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === 'NOT_FOUND' || error.code === 'FAILED_PRECONDITION') return error.message;
      if (error.details['reason'] !== 'NO_RESPONDERS') throw error;
      awaySince ??= clock.now();
      if (clock.now() - awaySince >= SERVICE_WINDOW_MS) return SERVICE_AWAY;
      throw error;
    }
  };
}

/** Renders the question for the model. The instructions contain the arguments of the user. */
function renderPrompt({ name, instructions }: InvokedSkill): string {
  return `The user invoked the skill ${name}. Follow its instructions:\n\n${instructions}`;
}
