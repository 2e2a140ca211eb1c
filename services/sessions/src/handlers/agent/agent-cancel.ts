import type { Handler } from '@switchyard/bus';
import type { TurnRunner } from '../../turns/turn-runner.ts';

/** Ends turns of the caller that run or wait. */
export function agentCancel(runner: TurnRunner): Handler<'agent.cancel'> {
  return (params, { principal }) => runner.cancel(params, principal);
}
