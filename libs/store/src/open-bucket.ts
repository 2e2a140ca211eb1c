import { ServiceError } from '@switchyard/contracts';
import type { Bucket } from './gridfs/bucket.ts';

const MONGODB = /^mongodb(\+srv)?:/i;

/** Opens the bucket for large files of one service. Requires a `mongodb://` URL. The driver is loaded on the first call. */
export async function openBucket(url: string, { service }: { service: string }): Promise<Bucket> {
  if (!MONGODB.test(url)) {
    throw new ServiceError('FAILED_PRECONDITION', 'large files require a store URL such as mongodb://host:port', {
      details: { reason: 'STORE_URL' },
    });
  }
  const { openGridfsBucket } = await import('./gridfs/gridfs-bucket.ts');
  return openGridfsBucket(url, service);
}
