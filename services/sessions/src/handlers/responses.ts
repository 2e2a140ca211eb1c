import type { Handler } from '@switchyard/bus';
import { cancelResponse, deleteResponse, getResponse, type ResponsesDeps } from '../responses/responses.ts';

/** Returns the state of a response of the caller. */
export function responsesGet(deps: ResponsesDeps): Handler<'responses.get'> {
  return async ({ turnId, talk = false }, { principal }) => {
    const { talk: message, ...state } = await getResponse(deps, principal, turnId);
    return talk && message !== undefined ? { ...state, talk: message } : state;
  };
}

/** Cancels a response of the caller. */
export function responsesCancel(deps: ResponsesDeps): Handler<'responses.cancel'> {
  return ({ turnId }, { principal }) => cancelResponse(deps, principal, turnId);
}

/** Deletes a response of the caller. */
export function responsesDelete(deps: ResponsesDeps): Handler<'responses.delete'> {
  return ({ turnId }, { principal }) => deleteResponse(deps, principal, turnId);
}
