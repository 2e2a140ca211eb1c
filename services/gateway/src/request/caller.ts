import type { HeaderLines } from '@switchyard/bus';
import type { McpClient, MethodScope, Principal, TokenScope } from '@switchyard/contracts';

/** The holder of a valid token. There is one object per token version, so that derived values are computed once. */
export interface Caller {
  readonly principal: Principal;
  /** The principal as a bus header. */
  readonly encodedPrincipal: HeaderLines;
  readonly tokenId: string;
  /** The key in the token bucket. */
  readonly record: string;
  /** Identifies the client across tenants. */
  readonly key: string;
  readonly scopes: readonly TokenScope[];
  /** Whether `/v1` ignores fields that it does not support. */
  readonly lenient: boolean;
  /** The permissions at `/mcp`; undefined when the token has none. */
  readonly mcpClient: McpClient | undefined;
  readonly may: Readonly<Record<MethodScope, boolean>>;
  readonly ver: number;
  /** Epoch milliseconds; Infinity for a token without expiry. */
  readonly expiresAt: number;
  /** Bytes of incomplete bodies and frames of this client. */
  incompleteBytes: number;
  /** Becomes false when the token is revoked, rotated or changed. */
  live: boolean;
}

/** Incomplete bodies and frames of one client that a replica buffers, over all its connections. */
const MAX_INCOMPLETE_BYTES = 32 * 1024 * 1024;
/** Messages of the maximum size that a client may send at once, if they exceed MAX_INCOMPLETE_BYTES. */
const MAX_LARGE_MESSAGES = 4;

/** Adds `bytes`, which may be negative, to the incomplete bytes of a client. Returns false above the limit. */
export function addIncompleteBytes(caller: Pick<Caller, 'incompleteBytes'>, bytes: number, maxMessageBytes: number): boolean {
  caller.incompleteBytes += bytes;
  return caller.incompleteBytes <= Math.max(MAX_INCOMPLETE_BYTES, MAX_LARGE_MESSAGES * maxMessageBytes);
}
