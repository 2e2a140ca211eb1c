import { ServiceError } from '@switchyard/contracts';

/** Parses an address and checks its form. Its target is checked when it is called. */
export function requireUrl(address: string): URL {
  if (!URL.canParse(address)) throw invalid(`expected an http:// or https:// address, got ${JSON.stringify(address.slice(0, 100))}`);
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid(`expected an http:// or https:// address, got the scheme ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw invalid('the address must not contain credentials');
  return url;
}

/** Converts a refusal of the way out to the errors of the interface: first the form of an address, then its target. */
export function toPublicError(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  if (error.details.reason === 'PORT_BLOCKED') return invalid(error.message);
  if (error.details.reason !== 'ADDRESS_BLOCKED') return error;
  if (/must not be called with credentials|must not be called: expected http|is not a URL/.test(error.message))
    return invalid(error.message);
  return new ServiceError('PERMISSION_DENIED', 'the address is not public', { details: { reason: 'ADDRESS_NOT_PUBLIC' }, cause: error });
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `Invalid address: ${message}`, { details: { reason: 'INVALID_ADDRESS' } });
}
