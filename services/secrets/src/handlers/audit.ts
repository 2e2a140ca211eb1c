import type { Handler } from '@switchyard/bus';
import type { Audit } from '../audit/audit-log.ts';

export function auditBegin(audit: Audit): Handler<'audit.begin'> {
  return async (act, { principal }) => {
    await audit.begin(principal, act);
    return { begun: true };
  };
}

export function auditFinish(audit: Audit): Handler<'audit.finish'> {
  return async ({ id, ...ending }, { principal }) => {
    await audit.finish(principal, id, ending);
    return { recorded: true };
  };
}

export function auditLooked(audit: Audit): Handler<'audit.looked'> {
  return async ({ looks }, { principal }) => {
    await audit.looked(principal, looks);
    return { recorded: true };
  };
}

export function auditRead(audit: Audit): Handler<'audit.read'> {
  return ({ after, limit }, { principal }) => audit.chain(principal.tenant).read(after, limit);
}
