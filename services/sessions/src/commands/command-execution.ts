import type { ModelRef } from '@switchyard/models';
import type { Effect } from '../model/session-document.ts';
import { zeroUsage } from '../model/checkpoint-log.ts';
import type { TurnOutcome } from '../agent-loop/turn-plan.ts';
import type { Answer, CommandDeps, CommandTurn } from './command-context.ts';
import { answers } from './command-handlers.ts';
import type { Command } from './command-parser.ts';

/**
 * Executes a command as its own turn, without a model call. The effect on the session is stored with the response and applied when the
 * turn is dequeued.
 */
export async function carryOut(
  deps: CommandDeps,
  given: CommandTurn,
  { model, command }: { model: ModelRef; command: Command },
): Promise<TurnOutcome & { effect: Effect }> {
  const answer = await answers[command.name]({ deps, options: given, model, args: command.args });
  given.signal.throwIfAborted();
  return answerWithText(given, model, answer);
}

/** Ends a turn with a text that no model wrote. */
export function answerWithText(
  { frames }: Pick<CommandTurn, 'frames'>,
  model: ModelRef,
  { text, effect = {} }: Answer,
): TurnOutcome & { effect: Effect } {
  frames.push({ type: 'delta', text });
  const tokensUsed = { input: 0, output: 0, total: 0 };
  const result = { response: text, tokensUsed, finishReason: effect.resets ? ('session_reset' as const) : ('command' as const) };
  return { result, model, steps: 0, spent: zeroUsage(), latencyMs: 0, effect };
}
