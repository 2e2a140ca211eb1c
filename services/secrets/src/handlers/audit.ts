import type { Handler } from '@switchyard/bus';
import type { AuditLog } from '../audit/audit-log.ts';

export function auditBegin(audit: AuditLog): Handler<'audit.begin'> {
  return async (act, { principal }) => {
    await audit.begin(principal, act);
    return { begun: true };
  };
}

export function auditFinish(audit: AuditLog): Handler<'audit.finish'> {
  return async ({ id, ...ending }, { principal }) => {
    await audit.finish(principal, id, ending);
    return { recorded: true };
  };
}

export function auditLooked(audit: AuditLog): Handler<'audit.looked'> {
  return async ({ looks }, { principal }) => {
    await audit.recordReads(principal, looks);
    return { recorded: true };
  };
}

export function auditRead(audit: AuditLog): Handler<'audit.read'> {
  return ({ after, limit }, { principal }) => audit.chain(principal.tenant).read(after, limit);
}
