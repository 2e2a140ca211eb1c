import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { ReadOptions, WriteHead } from './blob-store.ts';

const ID = /^blob_[0-9A-Za-z]{22}$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** As a header of HTTP may say it. */
const CONTENT_TYPE = /^[\x20-\x7e]{1,256}$/;
const MAX_TENANT = 256;

/** 128 random bits. It says nothing of what it names and is no path. */
export function mintBlobId(): string {
  return mintId('blob');
}

export function checkTenant(tenant: string): void {
  if (tenant === '' || tenant.length > MAX_TENANT) throw invalid('tenant', `1 to ${MAX_TENANT} characters`);
}

export function checkId(id: string): void {
  if (!ID.test(id)) throw invalid('id', 'blob_ and 22 letters or digits');
}

export function checkSha256(sha256: string): void {
  if (!SHA256.test(sha256)) throw invalid('sha256', '64 digits in hex, lower case');
}

export function checkHead({ id, contentType, offset = 0, expiresAt = 0, size = 0 }: WriteHead): void {
  checkId(id);
  if (!CONTENT_TYPE.test(contentType)) throw invalid('contentType', 'a media type such as application/json');
  checkCount('offset', offset);
  checkCount('expiresAt', expiresAt);
  checkCount('size', size);
}

export function checkRange({ offset = 0, limit = 0 }: ReadOptions): void {
  checkCount('offset', offset);
  checkCount('limit', limit);
}

function checkCount(field: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(field, 'a whole number, 0 or more');
}

function invalid(field: string, expected: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${field}: expected ${expected}`);
}
