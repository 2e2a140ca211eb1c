import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { KeepOptions, ListKeptOptions, ReadOptions, WriteHead } from './blob-store.ts';

const ID = /^blob_[0-9A-Za-z]{22}$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** Characters that are valid in an HTTP header. */
const CONTENT_TYPE = /^[\x20-\x7e]{1,256}$/;
const OWNER = /^[\x21-\x7e]{1,256}$/;
const MAX_PAGE_SIZE = 1_000;
const MAX_TENANT_LENGTH = 256;

/** Returns an id with 128 random bits that is safe as a file name. */
export function mintBlobId(): string {
  return mintId('blob');
}

export function validateTenant(tenant: string): void {
  if (tenant === '' || tenant.length > MAX_TENANT_LENGTH) throw invalid('tenant', `1 to ${MAX_TENANT_LENGTH} characters`);
}

export function validateId(id: string): void {
  if (!ID.test(id)) throw invalid('id', 'blob_ and 22 letters or digits');
}

export function validateSha256(sha256: string): void {
  if (!SHA256.test(sha256)) throw invalid('sha256', '64 lower-case hex digits');
}

export function validateHead({ id, contentType, expiresAt = 0, size = 0 }: WriteHead): void {
  validateId(id);
  if (!CONTENT_TYPE.test(contentType)) throw invalid('contentType', 'a media type such as application/json');
  validateCount('expiresAt', expiresAt);
  validateCount('size', size);
}

export function validateRange({ offset = 0, limit = 0 }: ReadOptions): void {
  validateCount('offset', offset);
  validateCount('limit', limit);
}

export function validateOwner(owner: string): void {
  if (!OWNER.test(owner)) throw invalid('owner', '1 to 256 printable ASCII characters without spaces');
}

export function validateKeep(id: string, { owner, expiresAt = 0 }: KeepOptions): void {
  validateId(id);
  validateOwner(owner);
  validateCount('expiresAt', expiresAt);
}

export function validateList({ owner, after, limit = 1 }: ListKeptOptions): void {
  validateOwner(owner);
  if (after !== undefined && after !== '') validateId(after);
  validateCount('limit', limit);
  if (limit < 1 || limit > MAX_PAGE_SIZE) throw invalid('limit', `1 to ${MAX_PAGE_SIZE}`);
}

function validateCount(field: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(field, 'an integer of at least 0');
}

function invalid(field: string, expected: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${field}: expected ${expected}`);
}
