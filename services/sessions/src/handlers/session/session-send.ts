import type { Handler } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import type { TurnRunner } from '../../turns/turn-runner.ts';

/** Runs a turn in the session with the given key and creates the session if needed. */
export function sessionSend(runner: TurnRunner): Handler<'session.send'> {
  return async ({ key, message, agentId, idempotencyKey }, ctx) => {
    const origin = { requestId: ctx.requestId, traceparent: ctx.traceparent };
    const request = { method: 'session.send' as const, turnId: mintId('turn'), message, agentId, session: key, idempotencyKey, origin };
    const { turn, result } = await runner.execute(request, ctx.principal, ctx);
    return { ...result, sessionKey: turn.sessionKey };
  };
}
