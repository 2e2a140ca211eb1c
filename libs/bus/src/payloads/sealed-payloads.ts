import { ServiceError } from '@switchyard/contracts';
import type { DecryptionKey, JweBinding } from '@switchyard/security';

/** How a service decrypts sealed params. All replicas of the service share the key. */
export interface ParamsDecryption {
  readonly key: Pick<DecryptionKey, 'decrypt'>;
  /** Whether params encrypted to a key that the service issued at this time (epoch ms, service clock) are still accepted. */
  isFresh(keyIssuedAt: number): boolean;
}

/** Identifies a call with sealed members. Sent in the `Sy-Seal` header; both directions are bound to it. */
export interface Seal {
  /** Public key of the calling process. A sealed result is encrypted to it. */
  replyKey: string;
  /** Random, for each call. */
  nonce: string;
  /** When the service issued the key that the params are encrypted to; 0 if no params are sealed. */
  keyIssuedAt: number;
}

const SEAL_HEADER = /^([A-Za-z0-9_-]{43})\.([A-Za-z0-9_]{22,64})\.(\d{1,15})$/;

export function formatSeal({ replyKey, nonce, keyIssuedAt }: Seal): string {
  return `${replyKey}.${nonce}.${keyIssuedAt}`;
}

/** Returns undefined if the header is missing or malformed. */
export function parseSeal(header: string | undefined): Seal | undefined {
  const [, replyKey, nonce, keyIssuedAt] = SEAL_HEADER.exec(header ?? '') ?? [];
  return replyKey === undefined || nonce === undefined ? undefined : { replyKey, nonce, keyIssuedAt: Number(keyIssuedAt) };
}

/** Binds params to the method, the call and the principal. */
export function bindParams(method: string, seal: Seal, principal: string): JweBinding {
  return { direction: 'params', method, seal: formatSeal(seal), principal };
}

/** Binds a result to the method and the call. */
export function bindResult(method: string, seal: Seal): JweBinding {
  return { direction: 'result', method, seal: formatSeal(seal) };
}

/** The message body that carries a JWE instead of params or a result. */
export function encodeSealed(sealed: string): Uint8Array {
  return Buffer.from(JSON.stringify({ sealed }));
}

/** Returns the JWE of a message body, or undefined if the body is not sealed. */
export function readSealed(body: unknown): string | undefined {
  return typeof body === 'object' && body !== null && 'sealed' in body && typeof body.sealed === 'string' ? body.sealed : undefined;
}

export function notSealed(method: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `${method} accepts sealed calls only. Update the caller to the version of the service.`, {
    details: { reason: 'NOT_SEALED' },
  });
}

/** The service restarted with another key, or the call is a replay. */
export function paramsNotDecrypted(method: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `The params of ${method} cannot be decrypted. Nothing was done; try again.`, {
    details: { reason: 'NOT_SEALED', retryable: true },
  });
}

export function resultNotDecrypted(method: string): ServiceError {
  return new ServiceError('DATA_LOSS', `The result of ${method} was not encrypted for this call and is discarded.`, {
    details: { reason: 'NOT_SEALED', retryable: false },
  });
}
