import { fileURLToPath } from 'node:url';
import type { BlobRef } from '@switchyard/contracts';

/** What `proto/switchyard/blob/v1/blob.proto` says, as the loader gives it. */
export interface WireHead {
  tenant: string;
  contentType: string;
  expiresAt: number;
  id: string;
  offset: number;
  size: number;
}

export interface PutRequest {
  head?: WireHead | null;
  chunk?: Uint8Array | null;
  end?: { sha256: string } | null;
}

export interface PutResponse {
  ref: BlobRef;
}

export interface Named {
  tenant: string;
  id: string;
}

export interface GetRequest extends Named {
  offset: number;
  limit: number;
}

export interface GetResponse {
  ref?: BlobRef | null;
  chunk?: Uint8Array | null;
}

export interface StatusResponse {
  offset: number;
  ref?: BlobRef | null | undefined;
}

const PROTOS = fileURLToPath(new URL('../../../../proto', import.meta.url));
export const PROTO = 'switchyard/blob/v1/blob.proto';
export const SERVICE = 'switchyard.blob.v1.BlobService';
/** Numbers are exact up to 2^53, which no blob reaches. */
export const LOADING = { includeDirs: [PROTOS], longs: Number, oneofs: true, defaults: true };

/** A piece, and what stands around it. */
export const LARGEST_MESSAGE = 65_536 + 1_024;
