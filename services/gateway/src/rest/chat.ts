import { TurnResult } from '@switchyard/contracts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { parseJsonBody } from '../request/request-body.ts';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { KeyHeader } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';
import { ChatBody, parseChatBody, withIdempotencyKey } from './chat-request.ts';
import { toServiceError, createShutdownError, createNotFollowedError } from '../turns/turn-errors.ts';
import { toRestError } from './rest-errors.ts';
import { startTurn, type StartedTurn } from '../turns/turn-start.ts';

const DOC: RouteDoc = {
  scopes: ['rpc'],
  summary: 'Runs a turn of an agent and returns its result.',
  description: 'The turn is stored and continues after a disconnect. With an Idempotency-Key repeated requests run it once.',
  headers: KeyHeader,
  body: ChatBody,
  example: { body: { message: 'hello' } },
  responses: { 200: { description: 'The result of the turn.', schema: TurnResult } },
  refusals: [409, 422],
};

/** `POST /api/chat`: runs one durable turn, which continues after a disconnect. */
export function registerChat(app: FastifyInstance, edge: Edge): void {
  app.post('/api/chat', edge.route(DOC), async (request, reply) => {
    const chat = withIdempotencyKey(parseChatBody(parseJsonBody(request)), request);
    const turn = await startTurn(edge.bus.as(request.caller.principal), chat, createCallOptions(request)).catch((error: unknown) => {
      throw toRestError(error);
    });
    const { response, tokensUsed, finishReason } = await waitForResult(turn, reply, edge.ending);
    reply.header('cache-control', 'no-store');
    if (turn.earlier) reply.header('idempotency-replayed', 'true');
    return { response, tokensUsed, finishReason };
  });
}

/** Resolves with the result of the turn; never settles after the client has disconnected. */
function waitForResult(
  { turnId, reader, repeatable, earlier }: StartedTurn,
  { raw }: FastifyReply,
  ending: AbortSignal,
): Promise<TurnResult> {
  return new Promise((resolve, reject) => {
    if (raw.destroyed) return reader.close();
    const fail = (error: unknown): void => reject(toRestError(error));
    const onShutdown = (): void => fail(createNotFollowedError(createShutdownError(turnId), { turnId, repeatable }));
    raw.once('close', () => {
      reader.close();
      ending.removeEventListener('abort', onShutdown);
    });
    ending.addEventListener('abort', onShutdown);
    reader.read(
      {
        frames(frames) {
          const last = frames.at(-1);
          if (last?.type === 'done') resolve(last.result);
          else if (last?.type === 'error') fail(toServiceError(last.error));
        },
        lost: fail,
      },
      earlier,
    );
  });
}
