import type { MongoServerError } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import type { StoredCollection } from './stored-document.ts';

const INDEX = / index: (?:unique\.)?(\S+?)_1? dup key/;

/** Returns the fields of the violated unique set, or the key. */
export function findDuplicateFields({ unique, spec }: StoredCollection, error: MongoServerError): readonly string[] {
  const [path] = Object.keys((error['keyPattern'] as object | undefined) ?? {});
  const name = path === undefined ? INDEX.exec(error.message)?.[1] : path.replace(/^unique\./, '');
  return (name === undefined ? undefined : unique.get(name)) ?? [spec.key];
}

export function isDuplicateId(collection: StoredCollection, error: MongoServerError): boolean {
  const [field, ...others] = findDuplicateFields(collection, error);
  return others.length === 0 && field === collection.spec.key;
}

export function alreadyExists(collection: StoredCollection, cause: MongoServerError): ServiceError {
  const unique = findDuplicateFields(collection, cause);
  const message = `${collection.spec.name}: ${unique.join(' and ')} already exists`;
  return new ServiceError('ALREADY_EXISTS', message, { details: { unique }, cause });
}
