import { ProtocolError } from '../errors/protocol-error.ts';
import { UpstreamError } from '../errors/upstream-error.ts';

/** Converts an error of the AI SDK to the errors of this library, so that all providers fail alike. */
export function convertLibraryError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { statusCode, responseHeaders, name } = error as Error & { statusCode?: unknown; responseHeaders?: Record<string, string> };
  if (typeof statusCode === 'number' && statusCode >= 400) {
    return new UpstreamError(error.message, { status: statusCode, ...(responseHeaders && { headers: responseHeaders }), cause: error });
  }
  // A response without an error status that the library could not read: HTML, nothing, or JSON of another shape.
  if (typeof statusCode === 'number' || name.startsWith('AI_')) return new ProtocolError('sent a response that is not its protocol');
  return error;
}
