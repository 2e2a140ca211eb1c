import type { IncomingHttpHeaders } from 'node:http';
import { UpstreamError } from '../errors/upstream-error.ts';
import { isMembers, membersOf, textOf } from './json-fields.ts';

/** What is read of a refusal; more of it says no more. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Reads the body of one response. Both throw what is wrong with it. */
export interface Body {
  /** Whether it says why there is no completion. */
  readonly refusal: boolean;
  push(bytes: Buffer): void;
  end(): void;
}

interface ErrorHead {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
}

/** Reads why there is no answer, and throws it at the end. */
export function errorBody({ status, statusText, headers }: ErrorHead): Body {
  const parts: Buffer[] = [];
  let left = MAX_REFUSAL_BYTES;
  return {
    refusal: true,
    push(bytes) {
      if (left > 0) parts.push(bytes.subarray(0, left));
      left -= bytes.length;
    },
    end() {
      const { message, code } = readRefusal(Buffer.concat(parts).toString('utf8'));
      throw new UpstreamError(message ?? textOf(statusText) ?? `status ${status}`, {
        status,
        headers: single(headers),
        ...(code === undefined ? {} : { code }),
      });
    },
  };
}

/** Every upstream has its own form for why it refuses; what is no JSON is a page for people. */
function readRefusal(body: string): { message: string | undefined; code: string | undefined } {
  const said = parsed(body);
  const refusal = membersOf(Array.isArray(said) ? said[0] : said);
  const inner = refusal['error'];
  const error = isMembers(inner) ? inner : refusal;
  return {
    message: textOf(error['message']) ?? textOf(inner) ?? textOf(refusal['message']) ?? textOf(refusal['detail']),
    code: textOf(error['code']) ?? textOf(error['type']),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function single(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? (value[0] ?? '') : (value ?? '')]),
  );
}
