import type { Ctx, Handler } from '@switchyard/bus';
import type { Input, Result } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { TurnRequest } from '../../turns/acceptance/turn-acceptance.ts';
import type { TurnRunner } from '../../turns/turn-runner.ts';

/** Runs a durable turn and returns its result. The turn continues if the caller disconnects. */
export function agentExecute(runner: TurnRunner): Handler<'agent.execute'> {
  return (params, ctx) => execute(runner, params, ctx);
}

/** Same as `agent.execute` on the bus. Only the SSE route streams the response. */
export function agentStream(runner: TurnRunner): Handler<'agent.stream'> {
  return (params, ctx) => {
    ctx.log.warn(
      { errorKind: 'validation', hint: 'use GET /api/chat/stream to receive the response in parts' },
      'agent.stream returns the response in one part',
    );
    return execute(runner, params, ctx);
  };
}

/** Same as `agent.execute`, but returns once the turn is accepted. */
export function agentStart(runner: TurnRunner): Handler<'agent.start'> {
  return async (params, ctx) => {
    const { turnId, sessionKey, state } = await runner.start(getRequest(params, ctx), ctx.principal);
    return { turnId, sessionKey, state };
  };
}

/** Returns the result of an earlier turn when it ends. Frames are delivered only over WebSockets, which the gateway serves. */
export function agentAttach(runner: TurnRunner): Handler<'agent.attach'> {
  return async ({ turnId }, ctx) => {
    const { turn, result } = await runner.attach(turnId, ctx.principal, ctx.signal);
    return { ...result, sessionKey: turn.sessionKey, turnId };
  };
}

async function execute(runner: TurnRunner, params: Input<'agent.execute'>, ctx: Ctx): Promise<Result<'agent.execute'>> {
  const { turn, result } = await runner.execute(getRequest(params, ctx), ctx.principal, ctx);
  return { ...result, sessionKey: turn.sessionKey };
}

/** One idempotency key identifies one turn for both `agent.execute` and `agent.start`. */
function getRequest({ message, agentId, sessionKey, scopes, idempotencyKey }: Input<'agent.start'>, ctx: Ctx): TurnRequest {
  return {
    method: 'agent.execute',
    turnId: mintId('turn'),
    message,
    agentId,
    session: sessionKey,
    scopes,
    idempotencyKey,
    origin: { requestId: ctx.requestId, traceparent: ctx.traceparent },
  };
}
