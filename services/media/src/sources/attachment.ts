import type { BlobStore } from '@switchyard/blob';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { RemoteFiles } from './remote-file.ts';
import type { SourceFile } from './source-file.ts';
import { findBlobId, readStoredFile } from './stored-file.ts';

/** Schemes of channel adapters. */
const CHANNEL_SCHEME = /^(?:tg-file|telegram|discord|slack|whatsapp|wa|signal|matrix|mxc|channel):/i;

export interface AttachmentOptions {
  principal: Principal;
  signal: AbortSignal;
  maxBytes: number;
  timeoutMs: number;
  userAgent: string;
}

/** Reads attachments of all kinds of addresses: http(s), `/media/<id>`, and ids of blobs. */
export interface Attachments {
  read(address: string, options: AttachmentOptions): Promise<SourceFile>;
}

export function createAttachments(remote: RemoteFiles, blobs: () => Promise<BlobStore>): Attachments {
  return {
    async read(address, { principal, ...options }) {
      const blobId = findBlobId(address);
      if (blobId !== undefined) return readStoredFile(await blobs(), blobId, { principal, ...options });
      if (CHANNEL_SCHEME.test(address)) throw createChannelError(address);
      return remote.fetch(address, { tenant: principal.tenant, ...options });
    },
  };
}

function createChannelError(address: string): ServiceError {
  const message = `addresses with ${address.slice(0, address.indexOf(':') + 1)} are resolved by the channels service, which is not installed`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'CHANNELS_NOT_INSTALLED' } });
}
