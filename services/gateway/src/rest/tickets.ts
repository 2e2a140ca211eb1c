import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { IssuedTicket } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';

const DOC: RouteDoc = {
  summary: 'Issues a one-time ticket that replaces the token for one minute.',
  description:
    'For browser requests that cannot set headers: `?ticket=` on /ws, /api/events, /api/chat/stream and /media. A ticket has the rights of its token and ends with it. Only pages of the requesting origin can use it.',
  responses: { 201: { description: 'The ticket.', schema: IssuedTicket } },
};

/** `POST /api/tickets`: issues tickets for streams and WebSockets of pages, so that no URL contains a token. */
export function registerTickets(app: FastifyInstance, edge: Edge): void {
  app.post('/api/tickets', edge.route(DOC), async (request, reply) => {
    const ticket = await edge.tickets.issue(request.caller, request.headers.origin);
    reply.code(201).header('cache-control', 'no-store');
    return ticket;
  });
}
