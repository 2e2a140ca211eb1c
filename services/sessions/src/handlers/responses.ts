import type { Handler } from '@switchyard/bus';
import { cancelResponse, deleteResponse, getResponse, type ResponsesDeps } from '../responses/responses.ts';

/** How a response of the caller is. */
export function responsesGet(deps: ResponsesDeps): Handler<'responses.get'> {
  return async ({ turnId, talk = false }, { principal }) => {
    const { talk: said, ...state } = await getResponse(deps, principal, turnId);
    return talk && said !== undefined ? { ...state, talk: said } : state;
  };
}

/** Ends a response of the caller. */
export function responsesCancel(deps: ResponsesDeps): Handler<'responses.cancel'> {
  return ({ turnId }, { principal }) => cancelResponse(deps, principal, turnId);
}

/** Forgets a response of the caller. */
export function responsesDelete(deps: ResponsesDeps): Handler<'responses.delete'> {
  return ({ turnId }, { principal }) => deleteResponse(deps, principal, turnId);
}
