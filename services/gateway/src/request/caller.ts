import type { HeaderLines } from '@switchyard/bus';
import type { McpClient, MethodScope, Principal, TokenScope } from '@switchyard/contracts';

/** Somebody with a valid token. One object per version of a token: what depends on it is computed once. */
export interface Caller {
  readonly principal: Principal;
  /** The principal as it crosses the bus. */
  readonly encodedPrincipal: HeaderLines;
  readonly tokenId: string;
  /** Where the bucket of tokens has it. */
  readonly record: string;
  /** Tells clients apart over all tenants. */
  readonly key: string;
  readonly scopes: readonly TokenScope[];
  /** Whether `/v1` passes over fields that mean nothing here. */
  readonly lenient: boolean;
  /** What it may do at `/mcp`; undefined where nothing was said. */
  readonly mcpClient: McpClient | undefined;
  readonly may: Readonly<Record<MethodScope, boolean>>;
  readonly ver: number;
  /** Epoch milliseconds; Infinity when it never does. */
  readonly expiresAt: number;
  /** Bytes of bodies and frames that it has begun and not finished. */
  unfinished: number;
  /** Turns false, for good, when the token is revoked, rotated or changed. */
  live: boolean;
}

/** What one client may make a replica hold at once of bodies and frames that are not whole yet, over all its connections. */
const MOST_BYTES = 32 * 1024 * 1024;
/** However large a message may be, a client may send a few of them at once. */
const LARGEST_AT_ONCE = 4;

/** Adds to what a client makes us hold, or takes away from it; false when it is too much. `largest` is what one message may be. */
export function changeUnfinished(caller: Pick<Caller, 'unfinished'>, bytes: number, largest: number): boolean {
  caller.unfinished += bytes;
  return caller.unfinished <= Math.max(MOST_BYTES, LARGEST_AT_ONCE * largest);
}
