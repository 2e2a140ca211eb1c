import { ServiceError } from '@switchyard/contracts';
import { checkUrl, type EgressSettings } from '@switchyard/egress';

export interface AddressPolicy {
  egress: () => EgressSettings;
  allowLoopback: () => boolean;
}

/** Parses an address and checks it before a page sees it. Names are checked by the proxy, which resolves them. */
export function parseAddress(address: string, { egress, allowLoopback }: AddressPolicy): string {
  if (address === 'about:blank') return address;
  if (!URL.canParse(address)) throw invalid('expected an absolute address');
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalid(`${url.protocol} is not allowed`);
  if (url.username !== '' || url.password !== '') throw invalid('credentials in the address are not allowed');
  const { egress: hosts, permission } = egress();
  try {
    checkUrl(url, permission.allowedNetHosts, { reach: 'public', allowLoopback, allowHosts: () => hosts.allowHosts });
  } catch (error) {
    throw error instanceof ServiceError ? convertRefusal(error) : error;
  }
  return url.href;
}

/** Converts a refusal of the egress library to the error of the browser's interface. */
export function convertRefusal(error: ServiceError): ServiceError {
  if (error.details.reason === 'PORT_BLOCKED') return invalid(error.message);
  return new ServiceError('PERMISSION_DENIED', error.message, { details: { reason: 'ADDRESS_NOT_PUBLIC' }, cause: error });
}

function invalid(reason: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `url: ${reason}. Expected: http: or https: without credentials, or about:blank.`);
}
