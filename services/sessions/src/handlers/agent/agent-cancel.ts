import type { Handler } from '@switchyard/bus';
import type { TurnRunner } from '../../turns/turn-runner.ts';

/** Cancels running and queued turns of the caller. */
export function agentCancel(runner: TurnRunner): Handler<'agent.cancel'> {
  return (params, { principal }) => runner.cancel(params, principal);
}
