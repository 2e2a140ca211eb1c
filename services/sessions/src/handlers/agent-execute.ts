import type { Ctx, Handler } from '@switchyard/bus';
import type { Input, Result } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Runner } from '../turns/runner.ts';

/** Runs a durable turn and answers when it is done; leaving does not end it. */
export function agentExecute(runner: Runner): Handler<'agent.execute'> {
  return (params, ctx) => execute(runner, params, ctx);
}

/** As agent.execute: pieces of the answer come over SSE only. */
export function agentStream(runner: Runner): Handler<'agent.stream'> {
  return (params, ctx) => {
    ctx.log.warn(
      { errorKind: 'validation', hint: 'read GET /api/chat/stream for pieces of the answer' },
      'agent.stream answers in one piece',
    );
    return execute(runner, params, ctx);
  };
}

async function execute(runner: Runner, params: Input<'agent.execute'>, ctx: Ctx): Promise<Result<'agent.execute'>> {
  const { message, agentId, sessionKey, scopes, idempotencyKey } = params;
  const request = {
    method: 'agent.execute' as const,
    turnId: mintId('turn'),
    message,
    agentId,
    session: sessionKey,
    scopes,
    idempotencyKey,
    origin: { requestId: ctx.requestId, traceparent: ctx.traceparent },
  };
  const { turn, result } = await runner.execute(request, ctx.principal, ctx.signal);
  return { ...result, sessionKey: turn.sessionKey };
}
