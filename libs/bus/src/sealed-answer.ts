import { ServiceError, type SealedParts } from '@switchyard/contracts';
import { EMPTY, decodeJson } from './bytes.ts';
import { PRINCIPAL, SEAL } from './headers.ts';
import type { Running } from './running.ts';
import { comesInClear, opensNotHere, paramsPlace, readSealText, resultPlace, sealedJson, sealedTextIn, type Seal } from './sealed.ts';
import type { Wire } from './wire.ts';

/**
 * The params of a call with secret members, whichever of the two has them. Throws before anything is done where they are not sealed
 * to this service, and where its answer could be sealed to nobody.
 */
export function openParams(wire: Wire, call: Running, said: unknown): unknown {
  const { callable, opening } = call.method;
  const seal = sealOf(call);
  if (needs(callable.sealed, 'result') && sealTo(wire, call, seal, EMPTY) === undefined) throw comesInClear(callable.name);
  if (!needs(callable.sealed, 'params')) return said;
  const text = sealedTextIn(said);
  if (text === undefined) throw comesInClear(callable.name);
  const place = paramsPlace(callable.name, seal, call.message.header(PRINCIPAL) ?? '');
  const plain = opening?.isFresh(seal.at) === true ? opening.box.unseal(text, place) : undefined;
  if (plain === undefined) throw opensNotHere(callable.name);
  return decodeJson(plain);
}

/** An answer, for the process that asked. */
export function sealResult(wire: Wire, call: Running, data: Uint8Array): Uint8Array {
  const text = sealTo(wire, call, sealOf(call), data);
  if (text === undefined) throw new ServiceError('INTERNAL', 'an answer could not be sealed'); // it could when the call came
  return sealedJson(text);
}

function sealTo(wire: Wire, { method }: Running, seal: Seal, data: Uint8Array): string | undefined {
  return wire.box().seal(seal.key, data, resultPlace(method.callable.name, seal));
}

function sealOf({ method, message }: Running): Seal {
  const seal = readSealText(message.header(SEAL));
  if (seal === undefined) throw comesInClear(method.callable.name);
  return seal;
}

function needs(sealed: SealedParts | undefined, part: keyof SealedParts): boolean {
  return sealed !== undefined && sealed[part].length > 0;
}
