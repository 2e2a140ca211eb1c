import type { MongoServerError } from 'mongodb';
import { ServiceError } from '@switchyard/contracts';
import type { KeptCollection } from './stored-document.ts';

const INDEX = / index: (?:unique\.)?(\S+?)_1? dup key/;

/** The fields whose values another document has: a unique set, or the key. */
export function takenFields({ unique, spec }: KeptCollection, error: MongoServerError): readonly string[] {
  const [path] = Object.keys((error['keyPattern'] as object | undefined) ?? {});
  const name = path === undefined ? INDEX.exec(error.message)?.[1] : path.replace(/^unique\./, '');
  return (name === undefined ? undefined : unique.get(name)) ?? [spec.key];
}

export function isKeyTaken(kept: KeptCollection, error: MongoServerError): boolean {
  const [field, ...others] = takenFields(kept, error);
  return others.length === 0 && field === kept.spec.key;
}

export function taken(kept: KeptCollection, cause: MongoServerError): ServiceError {
  const unique = takenFields(kept, cause);
  const message = `${kept.spec.name}: ${unique.join(' and ')} already taken`;
  return new ServiceError('ALREADY_EXISTS', message, { details: { unique }, cause });
}
