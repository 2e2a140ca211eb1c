import { DISCOVER, parseParams, publicMethods, type MethodSpec } from '@switchyard/contracts';
import { z } from 'zod';
import { NO_PARAMS } from './envelope.ts';

/** Answers a method without any service: the result as JSON, at once or later. Throws a ServiceError when the params are wrong. */
export type EdgeMethod = (params: Uint8Array) => string | Promise<string>;

/** What the edge answers itself: that it lives, and the document of everything else. */
export function createEdgeMethods(openRpc: () => Promise<string>): ReadonlyMap<string, EdgeMethod> {
  return new Map([
    ['system.ping', validated(schemaOf('system.ping'), () => `{"pong":true,"ts":${Date.now()}}`)],
    [DISCOVER, validated(z.strictObject({}), openRpc)],
  ]);
}

function schemaOf(name: string): MethodSpec['params'] {
  const callable = publicMethods.get(name);
  if (!callable) throw new TypeError(`${name} is not declared`);
  return callable.spec.params;
}

function validated(schema: MethodSpec['params'], answer: () => string | Promise<string>): EdgeMethod {
  return (params) => {
    if (params !== NO_PARAMS) parseParams(schema, JSON.parse(Buffer.from(params).toString()));
    return answer();
  };
}
