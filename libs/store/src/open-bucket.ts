import { ServiceError } from '@switchyard/contracts';
import type { Bucket } from './gridfs/bucket.ts';

const MONGODB = /^mongodb(\+srv)?:/i;

/** Opens the large files of one service: `mongodb://…`. Whoever has no such server keeps files as files. */
export async function openBucket(url: string, { service }: { service: string }): Promise<Bucket> {
  if (!MONGODB.test(url)) {
    throw new ServiceError('FAILED_PRECONDITION', 'large files are kept in mongodb://host:port', { details: { reason: 'STORE_URL' } });
  }
  const { openMongoBucket } = await import('./gridfs/open-bucket.ts');
  return openMongoBucket(url, service);
}
