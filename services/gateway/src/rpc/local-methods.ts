import { DISCOVER, parseParams, publicMethods, type MethodSpec } from '@switchyard/contracts';
import { z } from 'zod';
import { NO_PARAMS } from './envelope.ts';

/** A method of the gateway. Returns its result as JSON. Throws a ServiceError for invalid params. */
export type LocalMethod = (params: Uint8Array) => string | Promise<string>;

/** `system.ping` and `rpc.discover`. */
export function createLocalMethods(openRpc: () => Promise<string>): ReadonlyMap<string, LocalMethod> {
  return new Map([
    ['system.ping', withValidation(getParamsSchema('system.ping'), () => `{"pong":true,"ts":${Date.now()}}`)],
    [DISCOVER, withValidation(z.strictObject({}), openRpc)],
  ]);
}

function getParamsSchema(name: string): MethodSpec['params'] {
  const callable = publicMethods.get(name);
  if (!callable) throw new TypeError(`${name} is not declared`);
  return callable.spec.params;
}

function withValidation(schema: MethodSpec['params'], answer: () => string | Promise<string>): LocalMethod {
  return (params) => {
    if (params !== NO_PARAMS) parseParams(schema, JSON.parse(Buffer.from(params).toString()));
    return answer();
  };
}
