import { ServiceError } from '@switchyard/contracts';
import type { Box } from '@switchyard/security';

/** How a service opens what is sealed to it. All its replicas open the same. */
export interface Opening {
  readonly box: Pick<Box, 'unseal'>;
  /** Whether what was sealed at this time (epoch ms, as the service itself said it) may still be opened. */
  isFresh(at: number): boolean;
}

/** What goes with a call that has secret members, for both directions. */
export interface Seal {
  /** The key of the process that asks. */
  key: string;
  /** Drawn for the call. */
  nonce: string;
  /** When the owner said what to seal to; 0 where the params are no secret. */
  at: number;
}

const SEAL_TEXT = /^([A-Za-z0-9_-]{43})\.([A-Za-z0-9_]{22,64})\.(\d{1,15})$/;

/** As one header. */
export function sealText({ key, nonce, at }: Seal): string {
  return `${key}.${nonce}.${at}`;
}

/** Undefined for what no `sealText` wrote. */
export function readSealText(text: string | undefined): Seal | undefined {
  const [, key, nonce, at] = SEAL_TEXT.exec(text ?? '') ?? [];
  return key === undefined || nonce === undefined ? undefined : { key, nonce, at: Number(at) };
}

/** What params open for: this method, called by this principal, in this call. */
export function paramsPlace(method: string, seal: Seal, principal: string): string[] {
  return ['params', method, sealText(seal), principal];
}

/** What a result opens for: the process that asked for it, in this call. */
export function resultPlace(method: string, seal: Seal): string[] {
  return ['result', method, sealText(seal)];
}

/** What stands in the message instead of params or result. */
export function sealedJson(sealed: string): Uint8Array {
  return Buffer.from(JSON.stringify({ sealed }));
}

/** Undefined for what is not sealed. */
export function sealedTextIn(said: unknown): string | undefined {
  return typeof said === 'object' && said !== null && 'sealed' in said && typeof said.sealed === 'string' ? said.sealed : undefined;
}

/** There is no way back to clear text: who sends it is of an earlier version, or somebody else. */
export function comesInClear(method: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `${method} is called sealed, or not at all: who calls it is of another version.`, {
    details: { reason: 'NOT_SEALED' },
  });
}

/** Nothing was done. The service was started with another key since it was asked for one, or somebody has played it again. */
export function opensNotHere(method: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `What ${method} was told does not open here (any more), and nothing was done: try again.`, {
    details: { reason: 'NOT_SEALED', retryable: true },
  });
}

export function answerNotMine(method: string): ServiceError {
  return new ServiceError('DATA_LOSS', `the answer of ${method} was not sealed for this call: it is not used`, {
    details: { reason: 'NOT_SEALED', retryable: false },
  });
}
