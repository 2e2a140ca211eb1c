import { secrets } from '@switchyard/contracts';
import type { FastifyInstance } from 'fastify';
import type { RouteDoc } from '../openapi/route-doc.ts';
import { AUDIT_LIMIT, AuditQuery } from '../openapi/schemas.ts';
import type { Edge } from '../http/edge.ts';
import { createCallOptions } from '../request/trace.ts';
import { type Query, getQueryLimit, getQueryText } from '../request/query.ts';
import { createBadRequest } from '../request/refusal.ts';

const AUDIT: RouteDoc = {
  scopes: ['admin'],
  summary: 'Returns the audit records after a record, for verification of the hash chain.',
  query: AuditQuery,
  responses: { 200: { description: 'The records and the end of the chain.', schema: secrets.operations['audit.read'].result } },
};

/** `GET /api/audit`. */
export function registerAudit(app: FastifyInstance, edge: Edge): void {
  app.get('/api/audit', edge.route(AUDIT), async (request, reply) => {
    const query = request.query as Query;
    const after = getQueryText(query, 'after') ?? '0';
    if (!/^[0-9]{1,15}$/.test(after)) throw createBadRequest('after: expected a whole number');
    const params = { after: Number(after), limit: getQueryLimit(query, AUDIT_LIMIT) };
    reply.header('cache-control', 'no-store');
    return edge.bus.as(request.caller.principal).call('audit.read', params, createCallOptions(request));
  });
}
