import type { Handler } from '@switchyard/bus';
import type { LoadBudget } from '../sessions/load-budget.ts';
import { cancelResponse, deleteResponse, getResponse, type ResponsesDeps } from '../responses/responses.ts';

/** Returns the state of a response of the caller. */
export function responsesGet(deps: ResponsesDeps & { loads: LoadBudget }): Handler<'responses.get'> {
  return ({ turnId, talk = false }, { principal, signal }) => getResponse(deps, principal, { turnId, talk, signal });
}

/** Cancels a response of the caller. */
export function responsesCancel(deps: ResponsesDeps): Handler<'responses.cancel'> {
  return ({ turnId }, { principal }) => cancelResponse(deps, principal, turnId);
}

/** Deletes a response of the caller. */
export function responsesDelete(deps: ResponsesDeps): Handler<'responses.delete'> {
  return ({ turnId }, { principal }) => deleteResponse(deps, principal, turnId);
}
