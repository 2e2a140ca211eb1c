import type { ModelRef } from '@switchyard/models';
import type { Effect } from '../model/session-document.ts';
import { nothingSpent } from '../model/checkpoint-log.ts';
import type { TurnOutcome } from '../agent-loop/turn-plan.ts';
import type { CommandDeps, CommandTurn } from './command-context.ts';
import { answers } from './command-handlers.ts';
import type { Command } from './command-parser.ts';

/**
 * Answers a command in the turn that it is: in its place in the queue, once, without a model. What it does to its session is written
 * with the answer, and happens when the turn leaves the queue.
 */
export async function carryOut(
  deps: CommandDeps,
  given: CommandTurn,
  { model, command }: { model: ModelRef; command: Command },
): Promise<TurnOutcome & { effect: Effect }> {
  const { text, effect = {} } = await answers[command.name]({ deps, given, model, args: command.args });
  given.signal.throwIfAborted();
  given.frames.push({ type: 'delta', text });
  const tokensUsed = { input: 0, output: 0, total: 0 };
  const result = { response: text, tokensUsed, finishReason: effect.resets ? ('session_reset' as const) : ('command' as const) };
  return { result, model, steps: 0, spent: nothingSpent(), latencyMs: 0, effect };
}
