import type { Ctx, Handler } from '@switchyard/bus';
import type { Input, Result } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { TurnRequest } from '../../turns/acceptance/turn-acceptance.ts';
import type { TurnRunner } from '../../turns/turn-runner.ts';

/** Runs a durable turn and answers when it is done; leaving does not end it. */
export function agentExecute(runner: TurnRunner): Handler<'agent.execute'> {
  return (params, ctx) => execute(runner, params, ctx);
}

/** As agent.execute: pieces of the answer come over SSE only. */
export function agentStream(runner: TurnRunner): Handler<'agent.stream'> {
  return (params, ctx) => {
    ctx.log.warn(
      { errorKind: 'validation', hint: 'read GET /api/chat/stream for pieces of the answer' },
      'agent.stream answers in one piece',
    );
    return execute(runner, params, ctx);
  };
}

/** As agent.execute, and answers once the turn is accepted. */
export function agentStart(runner: TurnRunner): Handler<'agent.start'> {
  return async (params, ctx) => {
    const { turnId, sessionKey, state } = await runner.start(requestOf(params, ctx), ctx.principal);
    return { turnId, sessionKey, state };
  };
}

/** Answers when a turn ends that began before. Its frames come to WebSockets alone, which the edge serves. */
export function agentAttach(runner: TurnRunner): Handler<'agent.attach'> {
  return async ({ turnId }, ctx) => {
    const { turn, result } = await runner.attach(turnId, ctx.principal, ctx.signal);
    return { ...result, sessionKey: turn.sessionKey, turnId };
  };
}

async function execute(runner: TurnRunner, params: Input<'agent.execute'>, ctx: Ctx): Promise<Result<'agent.execute'>> {
  const { turn, result } = await runner.execute(requestOf(params, ctx), ctx.principal, ctx.signal);
  return { ...result, sessionKey: turn.sessionKey };
}

/** One idempotency key identifies one turn for both `agent.execute` and `agent.start`. */
function requestOf({ message, agentId, sessionKey, scopes, idempotencyKey }: Input<'agent.start'>, ctx: Ctx): TurnRequest {
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
