import { fileURLToPath } from 'node:url';
import type { BlobRef } from '@switchyard/contracts';

/** The messages of `proto/switchyard/blob/v1/blob.proto` as the loader returns them. */
export interface UploadHead {
  tenant: string;
  contentType: string;
  expiresAt: number;
  id: string;
  size: number;
}

export interface PutRequest {
  head?: UploadHead | null;
  chunk?: Uint8Array | null;
  end?: { sha256: string } | null;
}

export interface PutResponse {
  ref: BlobRef;
}

export interface BlobName {
  tenant: string;
  id: string;
}

export interface GetRequest extends BlobName {
  offset: number;
  limit: number;
}

export interface GetResponse {
  ref?: BlobRef | null;
  chunk?: Uint8Array | null;
}

export interface StatusResponse {
  ref?: BlobRef | null;
}

export interface KeptMessage {
  ref: BlobRef;
  owner: string;
}

export interface KeepRequest extends BlobName {
  owner: string;
  expiresAt: number;
}

export interface KeepResponse {
  blob?: KeptMessage | null;
}

export interface ReleaseRequest extends BlobName {
  owner: string;
}

export interface ListKeptRequest {
  tenant: string;
  owner: string;
  after: string;
  limit: number;
}

export interface ListKeptResponse {
  blobs: KeptMessage[];
}

const PROTO_DIRECTORY = fileURLToPath(new URL('../../../../proto', import.meta.url));
export const PROTO_FILE = 'switchyard/blob/v1/blob.proto';
export const SERVICE_NAME = 'switchyard.blob.v1.BlobService';
/** Numbers are exact up to 2^53, which is more than the size of any blob. */
export const LOADER_OPTIONS = { includeDirs: [PROTO_DIRECTORY], longs: Number, oneofs: true, defaults: true };

/** A chunk and its framing. */
export const MAX_MESSAGE_BYTES = 65_536 + 1_024;
