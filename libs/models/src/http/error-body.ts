import type { IncomingHttpHeaders } from 'node:http';
import { ProtocolError } from '../errors/protocol-error.ts';
import { createFrameError } from '../errors/provider-errors.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import { isJsonObject, getFields, getText } from './json-fields.ts';

/** Maximum bytes read of an error body. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Reads the body of one response. Throws for invalid content. */
export interface Body {
  /** Whether the body belongs to an error response. */
  readonly isError: boolean;
  push(bytes: Buffer): void;
  end(): void;
}

interface ErrorHead {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
}

/** Creates a reader of an error body, which throws an `UpstreamError` at the end. */
export function createErrorBody({ status, statusText, headers }: ErrorHead): Body {
  const parts: Buffer[] = [];
  let remaining = MAX_REFUSAL_BYTES;
  return {
    isError: true,
    push(bytes) {
      if (remaining > 0) parts.push(bytes.subarray(0, remaining));
      remaining -= bytes.length;
    },
    end() {
      const { message, code } = parseErrorBody(Buffer.concat(parts).toString('utf8'));
      throw new UpstreamError(message ?? getText(statusText) ?? `status ${status}`, {
        status,
        headers: flattenHeaders(headers),
        ...(code === undefined ? {} : { code }),
      });
    },
  };
}

/** Creates a reader of a JSON response to a streamed request. Throws the error in it at the end, or that the provider does not stream. */
export function createUnstreamedBody(type: string): Body {
  const parts: Buffer[] = [];
  let bytes = 0;
  return {
    isError: true,
    push(part) {
      if (bytes < MAX_REFUSAL_BYTES) parts.push(part);
      bytes += part.length;
    },
    end() {
      const error = parseErrorBody(Buffer.concat(parts).toString('utf8'));
      throw error.message === undefined
        ? new ProtocolError(`does not stream: the content type is ${type.slice(0, 100)}`)
        : createFrameError(error);
    },
  };
}

/** Parses the error formats of known providers. Other text is ignored. */
function parseErrorBody(body: string): { message: string | undefined; code: string | undefined } {
  const json = parseJson(body);
  const fields = getFields(Array.isArray(json) ? json[0] : json);
  const inner = fields['error'];
  const error = isJsonObject(inner) ? inner : fields;
  return {
    message: getText(error['message']) ?? getText(inner) ?? getText(fields['message']) ?? getText(fields['detail']),
    code: getText(error['code']) ?? getText(error['type']),
  };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? (value[0] ?? '') : (value ?? '')]),
  );
}
