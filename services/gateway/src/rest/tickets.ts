import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { TicketMade } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';

const DOC: RouteDoc = {
  summary: 'A ticket that stands for the token once, for a minute.',
  description:
    'For what a browser opens without headers: `?ticket=` on /ws, /api/events, /api/chat/stream and /media. It does what the token does, ends with it, and is good for pages of the origin that asked.',
  answers: { 201: { description: 'The ticket.', schema: TicketMade } },
};

/** `POST /api/tickets`: with a ticket in its address a page opens a stream or a socket, and no token ever stands in one. */
export function registerTickets(app: FastifyInstance, edge: Edge): void {
  app.post('/api/tickets', edge.route(DOC), async (request, reply) => {
    const made = await edge.tickets.issue(request.caller, request.headers.origin);
    reply.code(201).header('cache-control', 'no-store');
    return made;
  });
}
