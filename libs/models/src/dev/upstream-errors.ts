import { APICallError } from '@ai-sdk/provider';

/** What the adapters throw when an upstream answers with a status that is not a success. */
export function statusError(status: number, message: string, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({ message, url: 'dev:', requestBodyValues: {}, statusCode: status, responseHeaders });
}

/** What they throw when the connection breaks. */
export function networkError(code: string, message: string): APICallError {
  const cause = Object.assign(new Error(message), { code });
  return new APICallError({ message, url: 'dev:', requestBodyValues: {}, cause });
}
