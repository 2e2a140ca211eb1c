import { ServiceError } from '@switchyard/contracts';
import { encryptTo } from '@switchyard/security';
import { EMPTY, decodeJson } from '../wire/encoding.ts';
import { PRINCIPAL, SEAL } from '../wire/headers.ts';
import type { ActiveCall } from './active-call.ts';
import {
  bindParams,
  bindResult,
  encodeSealed,
  notSealed,
  paramsNotDecrypted,
  parseSeal,
  readSealed,
  type Seal,
} from '../payloads/sealed-payloads.ts';

/**
 * The params of a call with sealed members. Throws before the handler runs if the params are not encrypted to this service, or if
 * the result could not be encrypted to the caller.
 */
export async function openParams(call: ActiveCall, body: unknown): Promise<unknown> {
  const { callable, paramsDecryption } = call.method;
  const seal = readSeal(call);
  if (callable.sealed?.result.length && (await encryptResult(call, seal, EMPTY)) === undefined) throw notSealed(callable.name);
  if (!callable.sealed?.params.length) return body;
  const jwe = readSealed(body);
  if (jwe === undefined) throw notSealed(callable.name);
  const binding = bindParams(callable.name, seal, call.message.header(PRINCIPAL) ?? '');
  const plaintext = paramsDecryption?.isFresh(seal.keyIssuedAt) === true ? await paramsDecryption.key.decrypt(jwe, binding) : undefined;
  if (plaintext === undefined) throw paramsNotDecrypted(callable.name);
  return decodeJson(plaintext);
}

/** Encrypts a result to the calling process. */
export async function sealResult(call: ActiveCall, data: Uint8Array): Promise<Uint8Array> {
  const jwe = await encryptResult(call, readSeal(call), data);
  if (jwe === undefined) throw new ServiceError('INTERNAL', 'The result cannot be encrypted.'); // `openParams` has checked the key
  return encodeSealed(jwe);
}

function encryptResult({ method }: ActiveCall, seal: Seal, data: Uint8Array): Promise<string | undefined> {
  return encryptTo(seal.replyKey, data, bindResult(method.callable.name, seal));
}

function readSeal({ method, message }: ActiveCall): Seal {
  const seal = parseSeal(message.header(SEAL));
  if (seal === undefined) throw notSealed(method.callable.name);
  return seal;
}
