import { isInstalled, ServiceError, type ServiceName } from '@switchyard/contracts';

/**
 * Returns the error of a call, with another message if nobody answered because the installation does not include the service. Such a
 * call is not worth a retry.
 */
export function explainAbsence(error: ServiceError, service: ServiceName, installed: readonly ServiceName[]): ServiceError {
  if (error.details.reason !== 'NO_RESPONDERS' || isInstalled(service, installed)) return error;
  const message = `The ${service} service is not installed here. Install it, and name it in gateway.installedServices.`;
  return new ServiceError('UNAVAILABLE', message, { details: { ...error.details, reason: 'NOT_INSTALLED', retryable: false } });
}
