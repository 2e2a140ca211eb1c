import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { counter } from '@switchyard/telemetry';
import { createFairLimiter } from '../limits/fair-limiter.ts';
import {
  encodeHeader,
  type ParsedDocument,
  type ParseRequest,
  type ParseResponse,
  type RefusalKind,
} from '../parsers/protocol/protocol.ts';
import { requireChildren } from './child-permission.ts';
import { runChild } from './child-run.ts';
import { buildParserCommand } from './sandbox.ts';

const MAX_PROCESSES = 3;
/** The longest response: the longest text, escaped. */
const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

const REFUSALS: Readonly<Record<RefusalKind, { code: ErrorCode; reason: string }>> = {
  unsupported: { code: 'INVALID_ARGUMENT', reason: 'DOCUMENT_TYPE_UNSUPPORTED' },
  not_allowed: { code: 'FAILED_PRECONDITION', reason: 'DOCUMENT_TYPE_NOT_ALLOWED' },
  encrypted: { code: 'FAILED_PRECONDITION', reason: 'DOCUMENT_ENCRYPTED' },
  damaged: { code: 'INVALID_ARGUMENT', reason: 'DOCUMENT_DAMAGED' },
  limit: { code: 'FAILED_PRECONDITION', reason: 'DOCUMENT_LIMIT' },
  path: { code: 'INVALID_ARGUMENT', reason: 'ARCHIVE_PATH' },
  empty: { code: 'INVALID_ARGUMENT', reason: 'DOCUMENT_EMPTY' },
};

export interface ParseOptions extends ParseRequest {
  tenant: string;
  signal: AbortSignal;
  timeoutMs: number;
}

/** Reads documents in child processes, each in its own and at most three at once. */
export interface DocumentParser {
  parse(bytes: Uint8Array, options: ParseOptions): Promise<ParsedDocument>;
}

export function createDocumentParser(log: { warn(fields: object, message: string): void }): DocumentParser {
  const limiter = createFairLimiter(() => MAX_PROCESSES);

  async function parse(bytes: Uint8Array, { signal, timeoutMs, ...request }: Omit<ParseOptions, 'tenant'>): Promise<ParsedDocument> {
    requireChildren();
    const input = [encodeHeader(request), bytes];
    const run = await runChild({ ...buildParserCommand('parser-main.ts'), input, signal, timeoutMs, maxOutputBytes: MAX_RESPONSE_BYTES });
    const response = 'output' in run ? decodeResponse(run.output) : undefined;
    const outcome =
      response === undefined ? ('ended' in run ? run.ended : 'crashed') : 'document' in response ? 'parsed' : response.refusal.kind;
    counter('switchyard.media.documents', { outcome }).add(1);
    if (response === undefined) {
      log.warn({ outcome, stderr: 'stderr' in run ? run.stderr : '' }, 'a document parser ended without a result');
      throw createEndError(outcome === 'timed_out', timeoutMs);
    }
    if ('document' in response) return response.document;
    const { kind, message } = response.refusal;
    const { code, reason } = REFUSALS[kind];
    throw new ServiceError(code, message, { details: { reason } });
  }

  return { parse: (bytes, { tenant, ...options }) => limiter.run(tenant, options.signal, () => parse(bytes, options)) };
}

function decodeResponse(output: Buffer): ParseResponse | undefined {
  try {
    return JSON.parse(output.toString('utf8')) as ParseResponse;
  } catch {
    return undefined;
  }
}

function createEndError(isTimeout: boolean, timeoutMs: number): ServiceError {
  return isTimeout
    ? new ServiceError('FAILED_PRECONDITION', `reading the document took longer than ${timeoutMs} ms`, {
        details: { reason: 'DOCUMENT_TIMEOUT' },
      })
    : new ServiceError('FAILED_PRECONDITION', 'reading the document needs more memory or time than is allowed', {
        details: { reason: 'DOCUMENT_TOO_COMPLEX' },
      });
}
