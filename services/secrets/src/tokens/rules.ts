import { ServiceError, within, type Principal, type TokenScope } from '@switchyard/contracts';

/** Nobody grants more than they hold, and `mcp-client` stands alone. */
export function checkGrant(scopes: readonly TokenScope[], principal: Principal): void {
  if (scopes.includes('mcp-client') && scopes.length > 1) {
    throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: scopes: expected mcp-client alone, got other scopes beside it');
  }
  if (!within(scopes, principal.scopes)) {
    throw new ServiceError('PERMISSION_DENIED', 'A token cannot hold scopes that its creator does not hold.', {
      details: { reason: 'FORBIDDEN' },
    });
  }
}

/** Whether a token with these scopes can manage tokens. */
export function isAdmin(scopes: readonly TokenScope[]): boolean {
  return scopes.includes('*') || scopes.includes('admin');
}

export function noSuchToken(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `There is no token ${id}.`);
}
