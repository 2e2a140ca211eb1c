import { setTimeout as delay } from 'node:timers/promises';
import { credsAuthenticator, errors, type Authenticator, type ConnectionOptions, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Logger } from '@switchyard/telemetry';
import type { BusCredentials } from './bus-credentials.ts';
import { credentialsRejectedError, certificateRejectedError, invalidCredentialsError } from '../wire/errors.ts';
import { probeCertificateRejection } from './nats-tls-probe.ts';

const RETRY_INTERVAL_MS = 250;
/** A server that requires a certificate closes the connection after the handshake. The client notices by this timeout only. */
const CONNECT_TIMEOUT_MS = 5_000;
const WARN_INTERVAL_MS = 5_000;

/** TLS alerts for a missing or rejected client certificate. */
const CLIENT_CERTIFICATE_ALERT = /_ALERT_(?!PROTOCOL_VERSION)/;
/** Node's error codes for certificates. Retrying does not help. */
const CERTIFICATE_ERROR_CODE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_SSL|ERR_TLS|ERR_OSSL/;

/** Builds the client options. Credentials in the URL are used unless `credentials` overrides them. */
export function dialOptions(url: string, { user, password, token, credentials, tls }: BusCredentials = {}): ConnectionOptions {
  const addresses = url.split(',').map((one) => new URL(one));
  const { username, password: secret, protocol } = addresses[0] as URL;
  return {
    servers: addresses.map(({ host }) => host),
    ...readIdentity({ user: user ?? decodeURIComponent(username), password: password ?? decodeURIComponent(secret), token, credentials }),
    ...(tls !== undefined || protocol === 'tls:' ? { tls: tls ?? {} } : {}),
  };
}

/** A user name without a password is a token, as in the URLs of other NATS tools. */
function readIdentity({ user = '', password = '', token, credentials }: BusCredentials): ConnectionOptions {
  if (credentials !== undefined) return { authenticator: readCredentials(credentials) };
  if (token !== undefined) return { token };
  if (user === '') return {};
  return password === '' ? { token: user } : { user, pass: password };
}

/** Validates the credentials once, because the client hangs if its authenticator throws. */
function readCredentials(text: string): Authenticator {
  const authenticator = credsAuthenticator(new TextEncoder().encode(text));
  try {
    authenticator('nonce');
    return authenticator;
  } catch (cause) {
    throw invalidCredentialsError(cause);
  }
}

/** Connects and retries while the server is unreachable. Throws if the server rejects the credentials. */
export async function dial(options: ConnectionOptions, log: Logger): Promise<NatsConnection> {
  const servers = [options.servers ?? []].flat();
  let warnedAt = performance.now();
  for (;;) {
    try {
      return await connect({ ...options, timeout: CONNECT_TIMEOUT_MS });
    } catch (err) {
      if (isCertificateRejection(err)) throw certificateRejectedError(servers.join(','), err);
      if (isCredentialsRejection(err)) throw credentialsRejectedError(servers.join(','), err);
      await explainSilence(err, options);
      if (performance.now() - warnedAt >= WARN_INTERVAL_MS) {
        warnedAt = performance.now();
        log.warn({ servers, err }, 'waiting for NATS');
      }
    }
    await delay(RETRY_INTERVAL_MS * (1 + Math.random()));
  }
}

/** Throws if the server timed out because of our client certificate, or because it is missing. */
async function explainSilence(error: unknown, { servers, tls }: ConnectionOptions): Promise<void> {
  if (!(error instanceof errors.TimeoutError)) return;
  for (const server of [servers ?? []].flat()) {
    const refusal = await probeCertificateRejection(server, tls ?? undefined);
    if (refusal !== undefined && isCertificateRejection(refusal)) throw certificateRejectedError(server, refusal);
  }
}

function isCertificateRejection(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return CLIENT_CERTIFICATE_ALERT.test(String((error as NodeJS.ErrnoException).code)) || isCertificateRejection(error.cause);
}

function isCredentialsRejection(error: unknown): boolean {
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError) return true;
  if (!(error instanceof Error)) return false;
  if (/does not support 'tls'/.test(error.message)) return true;
  const { code } = error as NodeJS.ErrnoException;
  return CERTIFICATE_ERROR_CODE.test(code ?? '') || (error.cause !== undefined && isCredentialsRejection(error.cause));
}
